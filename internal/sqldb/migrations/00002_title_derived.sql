-- +goose Up
-- Whether nobody gave a title, so that it follows the content. NULL in rows from before: the title is derived if it is
-- the first line of the content.
ALTER TABLE memories ADD COLUMN title_derived BOOLEAN;
ALTER TABLE versions ADD COLUMN title_derived BOOLEAN;
ALTER TABLE candidates ADD COLUMN title_derived BOOLEAN;
