-- +goose Up
-- The memory that the memory of a candidate replaces, or is to replace.
ALTER TABLE candidates ADD COLUMN replaces BIGINT REFERENCES memories (row_id) ON DELETE SET NULL;
CREATE INDEX candidates_replaces ON candidates (replaces) WHERE replaces IS NOT NULL;
