-- +goose Up
-- Candidates show the turns that they come from.
ALTER TABLE policies ADD COLUMN keep_turns BOOLEAN NOT NULL DEFAULT FALSE;
