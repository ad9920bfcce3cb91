-- +goose Up
-- Embedding takes turns by the owner of the workspace, and long texts apart from short ones.
ALTER TABLE embedding_queue ADD COLUMN owner   BIGINT  NOT NULL DEFAULT 0;
ALTER TABLE embedding_queue ADD COLUMN is_long BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE embedding_queue SET owner = COALESCE((SELECT u.row_id FROM members m JOIN users u ON u.id = m.user_id WHERE m.workspace = embedding_queue.workspace AND m.role = 'owner'), 0),
	is_long = COALESCE((SELECT length(e.content) > 12288 FROM memories e WHERE e.row_id = embedding_queue.memory), FALSE);
DROP INDEX embedding_queue_due;
CREATE INDEX embedding_queue_turn ON embedding_queue (is_long, owner, due);
CREATE INDEX embedding_queue_workspace ON embedding_queue (workspace);
