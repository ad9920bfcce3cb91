-- +goose Up
-- The first prompt of an automatic session, shortened; empty while it has none. The title of others is their task.
ALTER TABLE sessions ADD COLUMN title TEXT NOT NULL DEFAULT '';
-- Whether the agent has ended the session while a unit was open: the session ends with the last one.
ALTER TABLE sessions ADD COLUMN ends BOOLEAN NOT NULL DEFAULT FALSE;
