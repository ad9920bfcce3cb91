-- +goose Up
-- Where a memory stands in what it comes from: a hash of the group, and the
-- position in it. Group 0 is none.
ALTER TABLE changes ADD COLUMN kin      BIGINT NOT NULL DEFAULT 0;
ALTER TABLE changes ADD COLUMN position BIGINT NOT NULL DEFAULT 0;

-- A generation is a model, and a way to cut texts into passages: only vectors of
-- one generation are compared.
CREATE TABLE generations (
	rid  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name TEXT    NOT NULL UNIQUE
);

-- Of a workspace: a number that rises whenever vectors are written, and the
-- generation of those that answer (0: none).
ALTER TABLE indexes ADD COLUMN vectors    BIGINT NOT NULL DEFAULT 0;
ALTER TABLE indexes ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
CREATE INDEX indexes_analyzer ON indexes (analyzer, workspace);

-- One row for each passage of a text that a memory has or had. text is a hash of
-- title and content; of several texts of a memory the one with the highest seq
-- is the present one. A rid never names another vector, because searches keep it.
CREATE TABLE vectors (
	rid        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	workspace  BIGINT  NOT NULL REFERENCES workspaces (rid) ON DELETE CASCADE,
	memory     BIGINT  NOT NULL REFERENCES memories (rid) ON DELETE CASCADE,
	generation BIGINT  NOT NULL,
	text       BIGINT  NOT NULL,
	passage    INTEGER NOT NULL,
	seq        BIGINT  NOT NULL,
	vector     BYTEA   NOT NULL
);
CREATE UNIQUE INDEX vectors_memory ON vectors (memory, generation, text, passage);
CREATE INDEX vectors_text ON vectors (workspace, generation, text);
CREATE INDEX vectors_seq ON vectors (workspace, generation, seq);

-- Memories that wait for their vectors: from when on, how often it was tried, and
-- why it failed. Whoever tries sets due into the future, and the row is his as
-- long as it stands there.
CREATE TABLE waiting (
	memory    BIGINT  NOT NULL PRIMARY KEY REFERENCES memories (rid) ON DELETE CASCADE,
	workspace BIGINT  NOT NULL REFERENCES workspaces (rid) ON DELETE CASCADE,
	due       BIGINT  NOT NULL,
	attempts  INTEGER NOT NULL,
	error     TEXT    NOT NULL
);
CREATE INDEX waiting_due ON waiting (workspace, due);
CREATE INDEX waiting_failed ON waiting (workspace) WHERE error <> '';
