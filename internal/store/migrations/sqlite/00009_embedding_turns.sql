-- +goose Up
-- Embedding takes turns by the owner of the workspace, and long texts apart from short ones.
ALTER TABLE waiting ADD COLUMN owner   BIGINT  NOT NULL DEFAULT 0;
ALTER TABLE waiting ADD COLUMN is_long BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE waiting SET owner = COALESCE((SELECT u.rid FROM members m JOIN users u ON u.id = m.user_id WHERE m.workspace = waiting.workspace AND m.role = 'owner'), 0),
	is_long = COALESCE((SELECT length(e.content) > 12288 FROM memories e WHERE e.rid = waiting.memory), FALSE);
DROP INDEX waiting_due;
CREATE INDEX waiting_turn ON waiting (is_long, owner, due);
CREATE INDEX waiting_workspace ON waiting (workspace);
