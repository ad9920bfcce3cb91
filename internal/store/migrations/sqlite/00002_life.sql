-- +goose Up
ALTER TABLE memories ADD COLUMN updated_by    TEXT    NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN verified_at   BIGINT  NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN verified_by   TEXT    NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN evidence      TEXT    NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN confidence    REAL;
ALTER TABLE memories ADD COLUMN valid_until   BIGINT  NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN archived_at   BIGINT  NOT NULL DEFAULT 0;
-- Both ends of a link are written together: superseded_by is an id, supersedes
-- a list of ids.
ALTER TABLE memories ADD COLUMN superseded_by TEXT    NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN supersedes    TEXT    NOT NULL DEFAULT '[]';
UPDATE memories SET updated_by = created_by;
CREATE INDEX memories_verified ON memories (workspace, status, created_at, id) WHERE verified_at > 0;
CREATE INDEX memories_verified_of_atlas ON memories (atlas, status, created_at, id) WHERE verified_at > 0;
CREATE INDEX memories_source ON memories (atlas, source_name, source_uri) WHERE source_uri <> '';

ALTER TABLE index_log ADD COLUMN verified    BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE index_log ADD COLUMN valid_until BIGINT  NOT NULL DEFAULT 0;

-- What memories were before: the present version is the row of the memory
-- itself. A text is kept only where the next version has another one: either
-- whole, or, where the next one begins with it, as its length in bytes.
CREATE TABLE versions (
	memory      BIGINT  NOT NULL REFERENCES memories (row_id) ON DELETE CASCADE,
	version     INTEGER NOT NULL,
	title       TEXT    NOT NULL,
	content     TEXT,
	prefix_len      BIGINT,
	type        INTEGER NOT NULL,
	tags        TEXT    NOT NULL,
	status      INTEGER NOT NULL,
	verified_at BIGINT  NOT NULL,
	verified_by TEXT    NOT NULL,
	evidence    TEXT    NOT NULL,
	confidence  REAL,
	valid_until BIGINT  NOT NULL,
	created_by  TEXT    NOT NULL,
	created_at  BIGINT  NOT NULL,
	PRIMARY KEY (memory, version)
) WITHOUT ROWID;

-- By what near duplicates find one another: hashes of what a text is made of.
-- Rows are written and removed with the text; one that is left over only costs
-- a look, because texts are compared.
CREATE TABLE minhash_bands (
	workspace BIGINT NOT NULL,
	band      BIGINT NOT NULL,
	memory    BIGINT NOT NULL,
	PRIMARY KEY (workspace, band, memory)
) WITHOUT ROWID;
