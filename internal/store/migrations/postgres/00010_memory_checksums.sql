-- +goose Up

-- The checksum of all that a memory says, by which loci admin check knows damage of its title, tags, source and review
-- too. Rows of earlier schemas have none until they are written again.
ALTER TABLE memories ADD COLUMN checksum BIGINT;
