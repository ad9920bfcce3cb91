-- +goose Up
-- Candidates show the turns that they come from, of events since a moment: 0 is never.
ALTER TABLE policies ADD COLUMN keep_turns_since BIGINT NOT NULL DEFAULT 0;
