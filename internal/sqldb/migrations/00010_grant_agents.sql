-- +goose Up
-- The OAuth grant that proves an agent, in place of a key. An agent with neither has ended.
ALTER TABLE agents ADD COLUMN grant_id TEXT REFERENCES grants (id) ON DELETE SET NULL;
CREATE UNIQUE INDEX agents_grant ON agents (grant_id);
CREATE INDEX agents_ended ON agents (row_id) WHERE key_id IS NULL AND grant_id IS NULL;
