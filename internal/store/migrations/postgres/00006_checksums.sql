-- +goose Up

-- Checksums, by which loci admin check knows damage: of a version's text and of what
-- else it was, of a vector with its place. Rows of earlier schemas have none.
ALTER TABLE versions ADD COLUMN checksum BIGINT;
ALTER TABLE vectors  ADD COLUMN checksum BIGINT;
