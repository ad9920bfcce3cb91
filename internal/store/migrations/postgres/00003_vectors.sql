-- +goose Up
-- Where a memory stands in what it comes from: a hash of the group, and the
-- position in it. Group 0 is none.
ALTER TABLE index_log ADD COLUMN group_id      BIGINT NOT NULL DEFAULT 0;
ALTER TABLE index_log ADD COLUMN position BIGINT NOT NULL DEFAULT 0;

-- A generation is a model, and a way to cut texts into passages: only vectors of
-- one generation are compared.
CREATE TABLE generations (
	row_id  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name TEXT    NOT NULL UNIQUE
);

-- Of a workspace: a number that rises whenever vectors are written, and the
-- generation of those that answer (0: none).
ALTER TABLE keyword_indexes ADD COLUMN vector_seq    BIGINT NOT NULL DEFAULT 0;
ALTER TABLE keyword_indexes ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
CREATE INDEX keyword_indexes_analyzer ON keyword_indexes (analyzer, workspace);

-- One row for each passage of a text that a memory has or had. text is a hash of
-- title and content; of several texts of a memory the one with the highest seq
-- is the present one. A rid never names another vector, because searches keep it.
CREATE TABLE vectors (
	row_id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	workspace  BIGINT  NOT NULL REFERENCES workspaces (row_id) ON DELETE CASCADE,
	memory     BIGINT  NOT NULL REFERENCES memories (row_id) ON DELETE CASCADE,
	generation BIGINT  NOT NULL,
	text_hash       BIGINT  NOT NULL,
	chunk    INTEGER NOT NULL,
	seq        BIGINT  NOT NULL,
	vector     BYTEA   NOT NULL
);
CREATE UNIQUE INDEX vectors_memory ON vectors (memory, generation, text_hash, chunk);
CREATE INDEX vectors_text ON vectors (workspace, generation, text_hash);
CREATE INDEX vectors_seq ON vectors (workspace, generation, seq);

-- Memories that wait for their vectors: from when on, how often it was tried, and
-- why it failed. Whoever tries sets due into the future, and the row is his as
-- long as it stands there.
CREATE TABLE embedding_queue (
	memory    BIGINT  NOT NULL PRIMARY KEY REFERENCES memories (row_id) ON DELETE CASCADE,
	workspace BIGINT  NOT NULL REFERENCES workspaces (row_id) ON DELETE CASCADE,
	due       BIGINT  NOT NULL,
	attempts  INTEGER NOT NULL,
	error     TEXT    NOT NULL
);
CREATE INDEX embedding_queue_due ON embedding_queue (workspace, due);
CREATE INDEX embedding_queue_failed ON embedding_queue (workspace) WHERE error <> '';
