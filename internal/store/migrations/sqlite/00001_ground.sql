-- +goose Up
CREATE TABLE metadata (
	name  TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE users (
	row_id        INTEGER PRIMARY KEY,
	id         TEXT    NOT NULL UNIQUE,
	email      TEXT    NOT NULL,
	email_folded     TEXT    NOT NULL UNIQUE,
	name       TEXT    NOT NULL,
	password   TEXT    NOT NULL,
	verified   BOOLEAN NOT NULL,
	referral   TEXT    NOT NULL,
	created_at BIGINT  NOT NULL,
	updated_at BIGINT  NOT NULL
);

CREATE TABLE api_keys (
	row_id          INTEGER PRIMARY KEY,
	id           TEXT   NOT NULL UNIQUE,
	user_id      TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	name         TEXT   NOT NULL,
	prefix       TEXT   NOT NULL,
	hash         BLOB   NOT NULL UNIQUE,
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	last_used_at BIGINT NOT NULL,
	revoked_at   BIGINT NOT NULL
);
CREATE INDEX api_keys_newest ON api_keys (user_id, created_at, id);

CREATE TABLE sign_ins (
	row_id        INTEGER PRIMARY KEY,
	id         TEXT   NOT NULL UNIQUE,
	user_id    TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	hash       BLOB   NOT NULL UNIQUE,
	created_at BIGINT NOT NULL,
	used_at    BIGINT NOT NULL
);
CREATE INDEX sign_ins_user ON sign_ins (user_id);

-- What is cached or counted by a rid must never meet another row under it, so
-- rids of workspaces, atlases and segments are not used twice.
CREATE TABLE workspaces (
	row_id         INTEGER PRIMARY KEY AUTOINCREMENT,
	id          TEXT    NOT NULL UNIQUE,
	name        TEXT    NOT NULL,
	personal_of TEXT    UNIQUE REFERENCES users (id) ON DELETE CASCADE,
	archived    BOOLEAN NOT NULL,
	secrets     TEXT    NOT NULL,
	created_at  BIGINT  NOT NULL,
	updated_at  BIGINT  NOT NULL
);

CREATE TABLE members (
	user_id   TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	workspace BIGINT NOT NULL REFERENCES workspaces (row_id) ON DELETE CASCADE,
	role      TEXT   NOT NULL,
	joined_at BIGINT NOT NULL,
	PRIMARY KEY (user_id, workspace)
) WITHOUT ROWID;
CREATE INDEX members_newest ON members (workspace, joined_at, user_id);
CREATE UNIQUE INDEX members_owner ON members (workspace) WHERE role = 'owner';

CREATE TABLE invitations (
	row_id        INTEGER PRIMARY KEY,
	id         TEXT   NOT NULL UNIQUE,
	workspace  BIGINT NOT NULL REFERENCES workspaces (row_id) ON DELETE CASCADE,
	email      TEXT   NOT NULL,
	email_folded     TEXT   NOT NULL,
	role       TEXT   NOT NULL,
	status     TEXT   NOT NULL,
	invited_by TEXT   NOT NULL,
	expires_at BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE INDEX invitations_newest ON invitations (workspace, created_at, id);
CREATE INDEX invitations_invited ON invitations (email_folded, status, created_at, id);

CREATE TABLE atlases (
	row_id         INTEGER PRIMARY KEY AUTOINCREMENT,
	id          TEXT    NOT NULL UNIQUE,
	workspace   BIGINT  NOT NULL REFERENCES workspaces (row_id) ON DELETE CASCADE,
	name        TEXT    NOT NULL,
	keywords    TEXT    NOT NULL,
	description TEXT    NOT NULL,
	inbox       BOOLEAN NOT NULL,
	archived    BOOLEAN NOT NULL,
	memories    BIGINT  NOT NULL,
	bytes       BIGINT  NOT NULL,
	created_at  BIGINT  NOT NULL,
	updated_at  BIGINT  NOT NULL
);
CREATE INDEX atlases_newest ON atlases (workspace, created_at, id);
CREATE UNIQUE INDEX atlases_inbox ON atlases (workspace) WHERE inbox;

CREATE TABLE memories (
	row_id             INTEGER PRIMARY KEY,
	id              TEXT    NOT NULL UNIQUE,
	workspace       BIGINT  NOT NULL REFERENCES workspaces (row_id) ON DELETE CASCADE,
	atlas           BIGINT  NOT NULL REFERENCES atlases (row_id) ON DELETE CASCADE,
	title           TEXT    NOT NULL,
	content         TEXT    NOT NULL,
	hash            BIGINT  NOT NULL,
	type            INTEGER NOT NULL,
	status          INTEGER NOT NULL,
	tags            TEXT    NOT NULL,
	source_name     TEXT    NOT NULL,
	source_uri      TEXT    NOT NULL,
	source_group    TEXT    NOT NULL,
	source_position BIGINT,
	version         INTEGER NOT NULL,
	created_by      TEXT    NOT NULL,
	created_at      BIGINT  NOT NULL,
	updated_at      BIGINT  NOT NULL
);
CREATE INDEX memories_newest ON memories (workspace, status, created_at, id);
CREATE INDEX memories_newest_of_atlas ON memories (atlas, status, created_at, id);
CREATE INDEX memories_equal ON memories (atlas, hash);

-- What has changed since the last fold: one row for each change of a memory.
-- It is the young end of the keyword index and of the counters of atlases.
CREATE TABLE index_log (
	seq       INTEGER PRIMARY KEY,
	workspace BIGINT  NOT NULL REFERENCES workspaces (row_id) ON DELETE CASCADE,
	memory    BIGINT  NOT NULL,
	atlas     BIGINT  NOT NULL,
	type      INTEGER NOT NULL,
	status    INTEGER NOT NULL,
	tags      TEXT    NOT NULL,
	created_at   BIGINT  NOT NULL,
	deleted      BOOLEAN NOT NULL,
	memories  INTEGER NOT NULL,
	bytes     BIGINT  NOT NULL,
	document  BLOB    NOT NULL
);
CREATE INDEX index_log_workspace ON index_log (workspace, seq);

-- The state of a workspace's keyword index: the version rises with every fold.
CREATE TABLE keyword_indexes (
	workspace BIGINT  NOT NULL PRIMARY KEY REFERENCES workspaces (row_id) ON DELETE CASCADE,
	version   BIGINT  NOT NULL,
	analyzer  INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE segments (
	row_id       INTEGER PRIMARY KEY AUTOINCREMENT,
	workspace BIGINT  NOT NULL REFERENCES workspaces (row_id) ON DELETE CASCADE,
	doc_count INTEGER NOT NULL,
	header      BLOB    NOT NULL,
	tombstones      BLOB    NOT NULL
);
CREATE INDEX segments_of_workspace ON segments (workspace);

CREATE TABLE segment_pages (
	segment BIGINT  NOT NULL REFERENCES segments (row_id) ON DELETE CASCADE,
	page  INTEGER NOT NULL,
	data   BLOB    NOT NULL,
	PRIMARY KEY (segment, page)
);

CREATE TABLE idempotency_keys (
	credential  TEXT    NOT NULL,
	key        TEXT    NOT NULL,
	fingerprint BLOB    NOT NULL,
	resource    TEXT    NOT NULL,
	created     BOOLEAN NOT NULL,
	response      BLOB    NOT NULL,
	created_at     BIGINT  NOT NULL,
	PRIMARY KEY (credential, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_keys_made ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_resource ON idempotency_keys (resource);

CREATE TABLE operations (
	user_id TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	month   TEXT   NOT NULL,
	used    BIGINT NOT NULL,
	PRIMARY KEY (user_id, month)
) WITHOUT ROWID;
