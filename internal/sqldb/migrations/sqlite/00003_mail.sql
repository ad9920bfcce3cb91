-- +goose Up
-- owner is the user whose transaction added the job, or empty. The owners of a kind take turns.
ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX jobs_turn ON jobs (kind, owner, due, row_id);
