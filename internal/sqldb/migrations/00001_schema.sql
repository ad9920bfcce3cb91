-- +goose Up
-- The SQL of these files is that of SQLite. ForPostgres in migrate.go translates it.

-- Settings and markers of the database as a whole.
CREATE TABLE metadata (
	name  TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL
) WITHOUT ROWID;

-- email_folded is the address as it is compared: in NFC, without letter case.
-- plan is the user's own plan; empty means the default of the server.
-- pro_until is when the benefits that the user has activated end. A disabled user is refused with every credential.
-- referral_code is the code of the user's referral link. It is empty until the user first asks for it.
CREATE TABLE users (
	row_id       INTEGER PRIMARY KEY,
	id           TEXT    NOT NULL UNIQUE,
	email        TEXT    NOT NULL,
	email_folded TEXT    NOT NULL UNIQUE,
	name         TEXT    NOT NULL,
	password     TEXT    NOT NULL,
	verified     BOOLEAN NOT NULL,
	disabled     BOOLEAN NOT NULL DEFAULT FALSE,
	plan         TEXT    NOT NULL,
	pro_until    BIGINT  NOT NULL,
	created_at   BIGINT  NOT NULL,
	updated_at   BIGINT  NOT NULL,

	referral_code TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX users_referral_code ON users (referral_code) WHERE referral_code <> '';

-- A referral is a user who registered with the code of another user. It stays without its invitee, because the counts of
-- the referrer are cumulative. A time is 0 until it is reached.
CREATE TABLE referrals (
	row_id       INTEGER PRIMARY KEY,
	id           TEXT   NOT NULL UNIQUE,
	referrer     TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	invitee      TEXT   UNIQUE REFERENCES users (id) ON DELETE SET NULL,
	verified_at  BIGINT NOT NULL,
	activated_at BIGINT NOT NULL,
	created_at   BIGINT NOT NULL
);
CREATE INDEX referrals_newest ON referrals (referrer, created_at, id);

-- A benefit is a number of days of the plan pro. expires_at is 0 until its user activates it.
CREATE TABLE benefits (
	row_id     INTEGER PRIMARY KEY,
	id         TEXT    NOT NULL UNIQUE,
	user_id    TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	days       INTEGER NOT NULL,
	expires_at BIGINT  NOT NULL,
	created_at BIGINT  NOT NULL,
	updated_at BIGINT  NOT NULL
);
CREATE INDEX benefits_newest ON benefits (user_id, created_at, id);

CREATE TABLE api_keys (
	row_id       INTEGER PRIMARY KEY,
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

-- An agent is the identity that an API key proves, with the name of the key. last_seen_at is written from time to time.
-- last_number is the number of its newest receipt. One of a deleted user is kept as long as a message that it sent.
CREATE TABLE agents (
	row_id       INTEGER PRIMARY KEY AUTOINCREMENT,
	id           TEXT   NOT NULL UNIQUE,
	user_id      TEXT   REFERENCES users (id) ON DELETE SET NULL,
	key_id       TEXT   UNIQUE REFERENCES api_keys (id) ON DELETE SET NULL,
	name         TEXT   NOT NULL,
	source_name  TEXT   NOT NULL,
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	last_seen_at BIGINT NOT NULL,
	last_number  BIGINT NOT NULL
);
CREATE INDEX agents_newest ON agents (user_id, created_at, id);

CREATE TABLE sign_ins (
	row_id     INTEGER PRIMARY KEY,
	id         TEXT   NOT NULL UNIQUE,
	user_id    TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	hash       BLOB   NOT NULL UNIQUE,
	user_agent TEXT   NOT NULL,
	address    TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	used_at    BIGINT NOT NULL
);
CREATE INDEX sign_ins_user ON sign_ins (user_id);

-- Row ids of agents, workspaces, atlases, memories, generations, segments, vectors and messages are never reused. Caches,
-- counters and running jobs refer to them.
CREATE TABLE workspaces (
	row_id      INTEGER PRIMARY KEY AUTOINCREMENT,
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
	row_id       INTEGER PRIMARY KEY,
	id           TEXT   NOT NULL UNIQUE,
	workspace    BIGINT NOT NULL REFERENCES workspaces (row_id) ON DELETE CASCADE,
	email        TEXT   NOT NULL,
	email_folded TEXT   NOT NULL,
	role         TEXT   NOT NULL,
	status       TEXT   NOT NULL,
	invited_by   TEXT   NOT NULL,
	expires_at   BIGINT NOT NULL,
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL
);
CREATE INDEX invitations_newest ON invitations (workspace, created_at, id);
CREATE INDEX invitations_invited ON invitations (email_folded, status, created_at, id);

-- The hashes of the secrets in links, which belong to a user (kinds verify and reset) or to an invitation.
CREATE TABLE tokens (
	hash       BLOB   NOT NULL PRIMARY KEY,
	kind       TEXT   NOT NULL,
	user_id    TEXT   REFERENCES users (id) ON DELETE CASCADE,
	invitation TEXT   REFERENCES invitations (id) ON DELETE CASCADE,
	expires_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX tokens_user ON tokens (user_id, kind);
CREATE INDEX tokens_invitation ON tokens (invitation);
CREATE INDEX tokens_expiry ON tokens (expires_at);

-- memories and bytes lack the changes that are still in index_log. The column workspace of a deleted atlas is NULL: no
-- query with a scope finds it, and a job erases its memories. These keep their workspace.
CREATE TABLE atlases (
	row_id      INTEGER PRIMARY KEY AUTOINCREMENT,
	id          TEXT    NOT NULL UNIQUE,
	workspace   BIGINT  REFERENCES workspaces (row_id) ON DELETE CASCADE,
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

-- hash is a hash of the content. checksum covers every field but the links between memories and the attachments. The
-- column superseded_by is an id, and supersedes a list of ids. A write changes both ends of a link. attachments is the
-- list of the ids of the active ones.
CREATE TABLE memories (
	row_id          INTEGER PRIMARY KEY AUTOINCREMENT,
	id              TEXT    NOT NULL UNIQUE,
	workspace       BIGINT  NOT NULL REFERENCES workspaces (row_id) ON DELETE CASCADE,
	atlas           BIGINT  NOT NULL REFERENCES atlases (row_id) ON DELETE CASCADE,
	title           TEXT    NOT NULL,
	content         TEXT    NOT NULL,
	hash            BIGINT  NOT NULL,
	checksum        BIGINT  NOT NULL,
	type            INTEGER NOT NULL,
	status          INTEGER NOT NULL,
	tags            TEXT    NOT NULL,
	source_name     TEXT    NOT NULL,
	source_uri      TEXT    NOT NULL,
	source_group    TEXT    NOT NULL,
	source_position BIGINT,
	version         INTEGER NOT NULL,
	verified_at     BIGINT  NOT NULL DEFAULT 0,
	verified_by     TEXT    NOT NULL DEFAULT '',
	evidence        TEXT    NOT NULL DEFAULT '',
	confidence      REAL,
	valid_until     BIGINT  NOT NULL DEFAULT 0,
	superseded_by   TEXT    NOT NULL DEFAULT '',
	supersedes      TEXT    NOT NULL DEFAULT '[]',
	created_by      TEXT    NOT NULL,
	agent_id        TEXT    NOT NULL DEFAULT '',
	session_id      TEXT    NOT NULL DEFAULT '',
	updated_by      TEXT    NOT NULL,
	created_at      BIGINT  NOT NULL,
	updated_at      BIGINT  NOT NULL,
	archived_at     BIGINT  NOT NULL DEFAULT 0,
	attachments     TEXT    NOT NULL DEFAULT '[]'
);
CREATE INDEX memories_newest ON memories (workspace, status, created_at, id);
CREATE INDEX memories_newest_of_atlas ON memories (atlas, status, created_at, id);
CREATE INDEX memories_verified ON memories (workspace, status, created_at, id) WHERE verified_at > 0;
CREATE INDEX memories_verified_of_atlas ON memories (atlas, status, created_at, id) WHERE verified_at > 0;
CREATE INDEX memories_equal ON memories (atlas, hash);
CREATE INDEX memories_source ON memories (atlas, source_name, source_uri) WHERE source_uri <> '';

-- Former versions of memories; the present version is the row of the memory. A version keeps its text only
-- where the next version has another one. Where the next text begins with it, prefix_len is its length in
-- bytes and content is NULL.
CREATE TABLE versions (
	memory      BIGINT  NOT NULL REFERENCES memories (row_id) ON DELETE CASCADE,
	version     INTEGER NOT NULL,
	title       TEXT    NOT NULL,
	content     TEXT,
	prefix_len  BIGINT,
	checksum    BIGINT  NOT NULL,
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

-- LSH bands of the MinHash signatures of active memories. A stale row costs one comparison of texts.
CREATE TABLE minhash_bands (
	workspace BIGINT NOT NULL,
	band      BIGINT NOT NULL,
	memory    BIGINT NOT NULL,
	PRIMARY KEY (workspace, band, memory)
) WITHOUT ROWID;

-- One row for each change of a memory since the last flush. The rows are the log of the keyword index, and the pending
-- part of the counters of atlases. The column group_id is a hash of the source's group (0: none), position the place in
-- it.
CREATE TABLE index_log (
	seq         INTEGER PRIMARY KEY,
	workspace   BIGINT  NOT NULL REFERENCES workspaces (row_id) ON DELETE CASCADE,
	memory      BIGINT  NOT NULL,
	atlas       BIGINT  NOT NULL,
	type        INTEGER NOT NULL,
	status      INTEGER NOT NULL,
	tags        TEXT    NOT NULL,
	verified    BOOLEAN NOT NULL,
	valid_until BIGINT  NOT NULL,
	group_id    BIGINT  NOT NULL,
	position    BIGINT  NOT NULL,
	created_at  BIGINT  NOT NULL,
	deleted     BOOLEAN NOT NULL,
	memories    INTEGER NOT NULL,
	bytes       BIGINT  NOT NULL,
	document    BLOB    NOT NULL
);
CREATE INDEX index_log_workspace ON index_log (workspace, seq);

-- A generation is a model and a way to cut texts into chunks. Only vectors of one generation are compared.
CREATE TABLE generations (
	row_id INTEGER PRIMARY KEY AUTOINCREMENT,
	name   TEXT NOT NULL UNIQUE
);

-- The state of a workspace's index. Every flush raises version, every write of vectors raises vector_seq.
-- generation is that of the vectors in use (0: none).
CREATE TABLE keyword_indexes (
	workspace  BIGINT  NOT NULL PRIMARY KEY REFERENCES workspaces (row_id) ON DELETE CASCADE,
	version    BIGINT  NOT NULL,
	analyzer   INTEGER NOT NULL,
	vector_seq BIGINT  NOT NULL DEFAULT 0,
	generation BIGINT  NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX keyword_indexes_analyzer ON keyword_indexes (analyzer, workspace);

CREATE TABLE segments (
	row_id     INTEGER PRIMARY KEY AUTOINCREMENT,
	workspace  BIGINT  NOT NULL REFERENCES workspaces (row_id) ON DELETE CASCADE,
	doc_count  INTEGER NOT NULL,
	header     BLOB    NOT NULL,
	tombstones BLOB    NOT NULL
);
CREATE INDEX segments_of_workspace ON segments (workspace);

CREATE TABLE segment_pages (
	segment BIGINT  NOT NULL REFERENCES segments (row_id) ON DELETE CASCADE,
	page    INTEGER NOT NULL,
	data    BLOB    NOT NULL,
	PRIMARY KEY (segment, page)
);

-- One row for each chunk of a present or former text of a memory. text_hash covers title and content. The
-- text with the highest seq is the present one. checksum covers the vector and its place.
CREATE TABLE vectors (
	row_id     INTEGER PRIMARY KEY AUTOINCREMENT,
	workspace  BIGINT  NOT NULL REFERENCES workspaces (row_id) ON DELETE CASCADE,
	memory     BIGINT  NOT NULL REFERENCES memories (row_id) ON DELETE CASCADE,
	generation BIGINT  NOT NULL,
	text_hash  BIGINT  NOT NULL,
	chunk      INTEGER NOT NULL,
	seq        BIGINT  NOT NULL,
	vector     BLOB    NOT NULL,
	checksum   BIGINT  NOT NULL
);
CREATE UNIQUE INDEX vectors_memory ON vectors (memory, generation, text_hash, chunk);
CREATE INDEX vectors_text ON vectors (workspace, generation, text_hash);
CREATE INDEX vectors_seq ON vectors (workspace, generation, seq);

-- Memories that wait for vectors. A worker leases a row by moving due to the end of the lease. The column error is why
-- the last attempt failed, at failed_at. Owners take turns, and long texts queue apart from short ones.
CREATE TABLE embedding_queue (
	memory    BIGINT  NOT NULL PRIMARY KEY REFERENCES memories (row_id) ON DELETE CASCADE,
	workspace BIGINT  NOT NULL REFERENCES workspaces (row_id) ON DELETE CASCADE,
	owner     BIGINT  NOT NULL,
	is_long   BOOLEAN NOT NULL,
	due       BIGINT  NOT NULL,
	attempts  INTEGER NOT NULL,
	error     TEXT    NOT NULL,
	failed_at BIGINT  NOT NULL
) WITHOUT ROWID;
CREATE INDEX embedding_queue_turn ON embedding_queue (is_long, owner, due);
CREATE INDEX embedding_queue_workspace ON embedding_queue (workspace);
CREATE INDEX embedding_queue_failed ON embedding_queue (workspace, failed_at) WHERE error <> '';

-- Stored responses, for requests that repeat an idempotency key.
CREATE TABLE idempotency_keys (
	credential  TEXT    NOT NULL,
	key         TEXT    NOT NULL,
	fingerprint BLOB    NOT NULL,
	created     BOOLEAN NOT NULL,
	response    BLOB    NOT NULL,
	created_at  BIGINT  NOT NULL,
	PRIMARY KEY (credential, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_keys_made ON idempotency_keys (created_at);

-- The records that a stored response shows. The deletion of one of them deletes the response. The response of a read
-- also has the record 'read'.
CREATE TABLE idempotency_records (
	record     TEXT NOT NULL,
	credential TEXT NOT NULL,
	key        TEXT NOT NULL,
	PRIMARY KEY (record, credential, key),
	FOREIGN KEY (credential, key) REFERENCES idempotency_keys (credential, key) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX idempotency_records_key ON idempotency_records (credential, key);

CREATE TABLE operations (
	user_id TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	month   TEXT   NOT NULL,
	used    BIGINT NOT NULL,
	PRIMARY KEY (user_id, month)
) WITHOUT ROWID;

-- The rate limit of each credential (GCRA), shared by servers. The column tat is the theoretical arrival time of the
-- next request, in nanoseconds since 1970. The column allowed is the last decision. In PostgreSQL the table is
-- unlogged: a crash may lose it, and no commit waits for the disk.
CREATE TABLE rate_limits (
	credential TEXT    NOT NULL PRIMARY KEY,
	tat        BIGINT  NOT NULL,
	allowed    BOOLEAN NOT NULL
) WITHOUT ROWID;
-- postgres: ALTER TABLE rate_limits SET UNLOGGED;
CREATE INDEX rate_limits_tat ON rate_limits (tat);

-- Background jobs, such as mails. subject is what a job is about, often an id. A server leases a row by moving due to
-- the end of the lease. The column error is why the last attempt failed.
CREATE TABLE jobs (
	row_id     INTEGER PRIMARY KEY AUTOINCREMENT,
	kind       TEXT    NOT NULL,
	subject    TEXT    NOT NULL,
	due        BIGINT  NOT NULL,
	attempts   INTEGER NOT NULL,
	error      TEXT    NOT NULL,
	created_at BIGINT  NOT NULL
);
CREATE INDEX jobs_due ON jobs (kind, due, row_id);

-- The tokens that the language model used on a day (UTC, days since 1970), with those that running calls have reserved.
CREATE TABLE model_usage (
	day    BIGINT NOT NULL PRIMARY KEY,
	tokens BIGINT NOT NULL
);

-- OAuth clients that registered themselves. redirect_uris is a list. used_at is when a user last consented to the client
-- or the client refreshed a token, to the day.
CREATE TABLE oauth_clients (
	row_id        INTEGER PRIMARY KEY,
	id            TEXT   NOT NULL UNIQUE,
	name          TEXT   NOT NULL,
	uri           TEXT   NOT NULL,
	redirect_uris TEXT   NOT NULL,
	created_at    BIGINT NOT NULL,
	used_at       BIGINT NOT NULL
);
CREATE INDEX oauth_clients_used ON oauth_clients (used_at);

-- Authorization codes that no client has redeemed yet, with the consent that each stands for. workspaces is a list of
-- ids. A code ends with the sign-in of its user.
CREATE TABLE oauth_codes (
	row_id       INTEGER PRIMARY KEY,
	hash         BLOB   NOT NULL UNIQUE,
	user_id      TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	sign_in      TEXT   NOT NULL REFERENCES sign_ins (id) ON DELETE CASCADE,
	client_id    TEXT   NOT NULL,
	client_name  TEXT   NOT NULL,
	client_uri   TEXT   NOT NULL,
	redirect_uri TEXT   NOT NULL,
	challenge    TEXT   NOT NULL,
	resource     TEXT   NOT NULL,
	scope        TEXT   NOT NULL,
	workspaces   TEXT   NOT NULL,
	expires_at   BIGINT NOT NULL
);
CREATE INDEX oauth_codes_user ON oauth_codes (user_id);
CREATE INDEX oauth_codes_sign_in ON oauth_codes (sign_in);
CREATE INDEX oauth_codes_client ON oauth_codes (client_id);
CREATE INDEX oauth_codes_expiry ON oauth_codes (expires_at);

-- What a user lets an OAuth client do. client_id may be the address of a metadata document, so it references no row.
-- code_hash is the hash of the redeemed code: a second use revokes the grant. family_hash is that of the part
-- which all its refresh tokens share: one that was used long ago revokes it, too. updated_at is the time of the last
-- tokens.
CREATE TABLE grants (
	row_id       INTEGER PRIMARY KEY,
	id           TEXT   NOT NULL UNIQUE,
	user_id      TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	client_id    TEXT   NOT NULL,
	client_name  TEXT   NOT NULL,
	client_uri   TEXT   NOT NULL,
	redirect_uri TEXT   NOT NULL,
	resource     TEXT   NOT NULL,
	scope        TEXT   NOT NULL,
	code_hash    BLOB   NOT NULL UNIQUE,
	family_hash  BLOB   NOT NULL UNIQUE,
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	last_used_at BIGINT NOT NULL,
	expires_at   BIGINT NOT NULL
);
CREATE INDEX grants_newest ON grants (user_id, created_at, id);
CREATE INDEX grants_client ON grants (client_id);
CREATE INDEX grants_expiry ON grants (expires_at);

-- The workspaces that a grant reaches. The end of the membership removes one for ever.
CREATE TABLE grant_workspaces (
	grant_id  TEXT   NOT NULL REFERENCES grants (id) ON DELETE CASCADE,
	user_id   TEXT   NOT NULL,
	workspace BIGINT NOT NULL,
	PRIMARY KEY (grant_id, workspace),
	FOREIGN KEY (user_id, workspace) REFERENCES members (user_id, workspace) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX grant_workspaces_member ON grant_workspaces (user_id, workspace);

-- The pairs of access and refresh token of a grant. Each token seals the random secret of the grant. replaced_at is 0
-- until the refresh token is used. next is then the following pair, sealed by the refresh token.
CREATE TABLE grant_tokens (
	row_id         INTEGER PRIMARY KEY,
	grant_id       TEXT   NOT NULL REFERENCES grants (id) ON DELETE CASCADE,
	access_hash    BLOB   NOT NULL UNIQUE,
	access_secret  BLOB   NOT NULL,
	refresh_hash   BLOB   NOT NULL UNIQUE,
	refresh_secret BLOB   NOT NULL,
	next           BLOB,
	created_at     BIGINT NOT NULL,
	replaced_at    BIGINT NOT NULL
);
CREATE INDEX grant_tokens_newest ON grant_tokens (grant_id, created_at);
CREATE INDEX grant_tokens_replaced ON grant_tokens (replaced_at) WHERE replaced_at > 0;

-- Pairs of a memory here and its copy on another server, for push and pull. Only local databases have rows. The server
-- is known by the id of the account there. An id is empty until its memory exists. A state is a hash of the memory at
-- the last copy. The columns writing, pending, sent and sent_after belong to a copy that was begun, and are empty after it.
CREATE TABLE sync_pairs (
	row_id           INTEGER PRIMARY KEY,
	user_id          TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	account          TEXT   NOT NULL,
	remote_workspace TEXT   NOT NULL,
	local_id         TEXT   NOT NULL,
	remote_id        TEXT   NOT NULL,
	local_state      TEXT   NOT NULL,
	remote_state     TEXT   NOT NULL,
	writing          TEXT   NOT NULL,
	pending          TEXT   NOT NULL,
	sent             TEXT   NOT NULL,
	sent_after       BIGINT NOT NULL
);
CREATE UNIQUE INDEX sync_pairs_local ON sync_pairs (user_id, account, local_id) WHERE local_id <> '';
CREATE UNIQUE INDEX sync_pairs_remote ON sync_pairs (user_id, account, remote_id) WHERE remote_id <> '';

-- The records of agents' tasks. The columns workspace and user_id of a deleted session are NULL: no query with a scope
-- finds it, and a job erases its rows. memory is that of the unit finalized last. The counters equal the rows of the
-- other tables, and redactions is the sum of the audits. has_texts is set while events of the session have texts, which
-- go 30 days after its last use.
CREATE TABLE sessions (
	row_id       INTEGER PRIMARY KEY AUTOINCREMENT,
	id           TEXT    NOT NULL UNIQUE,
	workspace    BIGINT  REFERENCES workspaces (row_id) ON DELETE CASCADE,
	atlas        BIGINT  NOT NULL REFERENCES atlases (row_id) ON DELETE CASCADE,
	user_id      TEXT    REFERENCES users (id) ON DELETE CASCADE,
	agent_id     TEXT    NOT NULL,
	kind         TEXT    NOT NULL,
	adapter      TEXT    NOT NULL,
	external_id  TEXT    NOT NULL,
	source_name  TEXT    NOT NULL,
	task         TEXT    NOT NULL,
	status       TEXT    NOT NULL,
	archived     BOOLEAN NOT NULL,
	summary      TEXT    NOT NULL,
	snapshot     TEXT    NOT NULL,
	memory       BIGINT  REFERENCES memories (row_id) ON DELETE SET NULL,
	candidates   INTEGER NOT NULL,
	pending      INTEGER NOT NULL,
	checkpoints  INTEGER NOT NULL,
	units        INTEGER NOT NULL,
	events       INTEGER NOT NULL,
	audits       INTEGER NOT NULL,
	compilations INTEGER NOT NULL,
	redactions   TEXT    NOT NULL,
	steps        BIGINT  NOT NULL,
	has_texts    BOOLEAN NOT NULL,
	ended_at     BIGINT  NOT NULL,
	created_at   BIGINT  NOT NULL,
	updated_at   BIGINT  NOT NULL
);
CREATE INDEX sessions_own ON sessions (user_id, created_at, id);
CREATE INDEX sessions_newest ON sessions (workspace, created_at, id);
CREATE INDEX sessions_atlas ON sessions (atlas);
CREATE INDEX sessions_memory ON sessions (memory) WHERE memory IS NOT NULL;
CREATE INDEX sessions_texts ON sessions (row_id) WHERE has_texts;
CREATE INDEX sessions_deleted ON sessions (row_id) WHERE workspace IS NULL;
-- With the atlas, because sessions of a deleted one keep their ids until they are erased. Across atlases a lock keeps an
-- id unique.
CREATE UNIQUE INDEX sessions_external ON sessions (workspace, user_id, adapter, external_id, atlas, kind)
	WHERE external_id <> '';

CREATE TABLE checkpoints (
	session    BIGINT  NOT NULL REFERENCES sessions (row_id) ON DELETE CASCADE,
	number     INTEGER NOT NULL,
	summary    TEXT    NOT NULL,
	created_at BIGINT  NOT NULL,
	PRIMARY KEY (session, number)
) WITHOUT ROWID;

-- The tasks within an automatic session. Each has one memory.
CREATE TABLE units (
	row_id     INTEGER PRIMARY KEY,
	id         TEXT   NOT NULL UNIQUE,
	session    BIGINT NOT NULL REFERENCES sessions (row_id) ON DELETE CASCADE,
	key        TEXT   NOT NULL,
	title      TEXT   NOT NULL,
	status     TEXT   NOT NULL,
	memory     BIGINT REFERENCES memories (row_id) ON DELETE SET NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	UNIQUE (session, key)
);
CREATE INDEX units_newest ON units (session, created_at, id);
CREATE INDEX units_memory ON units (memory) WHERE memory IS NOT NULL;

-- Pieces of knowledge that may become memories. workspace, atlas and user_id are those of the session. similar_to is a
-- list of ids of memories and scores.
CREATE TABLE candidates (
	row_id          INTEGER PRIMARY KEY,
	id              TEXT    NOT NULL UNIQUE,
	session         BIGINT  NOT NULL REFERENCES sessions (row_id) ON DELETE CASCADE,
	workspace       BIGINT  NOT NULL,
	atlas           BIGINT  NOT NULL,
	user_id         TEXT    NOT NULL,
	unit            BIGINT  REFERENCES units (row_id) ON DELETE SET NULL,
	content         TEXT    NOT NULL,
	title           TEXT    NOT NULL,
	type            INTEGER NOT NULL,
	tags            TEXT    NOT NULL,
	confidence      REAL,
	evidence        TEXT    NOT NULL,
	source_event_id TEXT    NOT NULL,
	status          TEXT    NOT NULL,
	memory          BIGINT  REFERENCES memories (row_id) ON DELETE SET NULL,
	similar_to      TEXT    NOT NULL,
	created_at      BIGINT  NOT NULL,
	updated_at      BIGINT  NOT NULL
);
CREATE INDEX candidates_of_session ON candidates (session, created_at, id);
CREATE UNIQUE INDEX candidates_source ON candidates (session, source_event_id) WHERE source_event_id <> '';
CREATE INDEX candidates_own ON candidates (user_id, created_at, id);
CREATE INDEX candidates_newest ON candidates (workspace, created_at, id);
CREATE INDEX candidates_own_pending ON candidates (user_id, created_at, id) WHERE status = 'pending';
CREATE INDEX candidates_pending ON candidates (workspace, created_at, id) WHERE status = 'pending';
CREATE INDEX candidates_known ON candidates (atlas, user_id, created_at, id) WHERE status <> 'compiled';
CREATE INDEX candidates_unit ON candidates (unit) WHERE unit IS NOT NULL;
CREATE INDEX candidates_memory ON candidates (memory) WHERE memory IS NOT NULL;

-- The events of automatic sessions. content and metadata are empty for tools and files, and 30 days after the last use
-- of the session.
CREATE TABLE session_events (
	row_id      INTEGER PRIMARY KEY,
	id          TEXT   NOT NULL UNIQUE,
	session     BIGINT NOT NULL REFERENCES sessions (row_id) ON DELETE CASCADE,
	event_id    TEXT   NOT NULL,
	type        TEXT   NOT NULL,
	unit_key    TEXT   NOT NULL,
	role        TEXT   NOT NULL,
	content     TEXT   NOT NULL,
	metadata    TEXT   NOT NULL,
	occurred_at BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	UNIQUE (session, event_id)
);
CREATE INDEX session_events_prompts ON session_events (session, type, row_id);

-- The steps of a session: who did what and when. Only the newest are kept. The ids are those of the time.
CREATE TABLE session_history (
	session      BIGINT NOT NULL REFERENCES sessions (row_id) ON DELETE CASCADE,
	step         BIGINT NOT NULL,
	action       TEXT   NOT NULL,
	user_id      TEXT   NOT NULL,
	agent_id     TEXT   NOT NULL,
	candidate_id TEXT   NOT NULL,
	unit_id      TEXT   NOT NULL,
	memory_id    TEXT   NOT NULL,
	event_id     TEXT   NOT NULL,
	created_at   BIGINT NOT NULL,
	PRIMARY KEY (session, step)
) WITHOUT ROWID;

-- What clients have redacted before they sent an event. rules is a list of names and counts.
CREATE TABLE redaction_audits (
	row_id      INTEGER PRIMARY KEY,
	id          TEXT    NOT NULL UNIQUE,
	session     BIGINT  NOT NULL REFERENCES sessions (row_id) ON DELETE CASCADE,
	event_id    TEXT    NOT NULL,
	rules       TEXT    NOT NULL,
	total       INTEGER NOT NULL,
	occurred_at BIGINT  NOT NULL,
	created_at  BIGINT  NOT NULL,
	UNIQUE (session, event_id)
);

-- What bridges made of events. input_event_ids is a list.
CREATE TABLE compilations (
	row_id          INTEGER PRIMARY KEY,
	id              TEXT   NOT NULL UNIQUE,
	session         BIGINT NOT NULL REFERENCES sessions (row_id) ON DELETE CASCADE,
	unit_key        TEXT   NOT NULL,
	compiler        TEXT   NOT NULL,
	outcome         TEXT   NOT NULL,
	memory          BIGINT REFERENCES memories (row_id) ON DELETE SET NULL,
	input_event_ids TEXT   NOT NULL,
	created_at      BIGINT NOT NULL
);
CREATE INDEX compilations_session ON compilations (session, row_id);
CREATE INDEX compilations_memory ON compilations (memory) WHERE memory IS NOT NULL;

-- The automatic memory of a user in a workspace. adapters_off and exclude_paths are lists.
CREATE TABLE policies (
	user_id       TEXT    NOT NULL,
	workspace     BIGINT  NOT NULL,
	enabled       BOOLEAN NOT NULL,
	paused        BOOLEAN NOT NULL,
	mode          TEXT    NOT NULL,
	atlas         BIGINT  REFERENCES atlases (row_id) ON DELETE SET NULL,
	adapters_off  TEXT    NOT NULL,
	min_length    INTEGER NOT NULL,
	exclude_paths TEXT    NOT NULL,
	created_at    BIGINT  NOT NULL,
	updated_at    BIGINT  NOT NULL,
	PRIMARY KEY (user_id, workspace),
	FOREIGN KEY (user_id, workspace) REFERENCES members (user_id, workspace) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX policies_atlas ON policies (atlas) WHERE atlas IS NOT NULL;

-- Messages between agents. agent is the sender, to_agent the id of the recipient, or empty for a broadcast.
CREATE TABLE messages (
	row_id     INTEGER PRIMARY KEY AUTOINCREMENT,
	id         TEXT   NOT NULL UNIQUE,
	workspace  BIGINT NOT NULL REFERENCES workspaces (row_id) ON DELETE CASCADE,
	agent      BIGINT NOT NULL REFERENCES agents (row_id) ON DELETE CASCADE,
	to_agent   TEXT   NOT NULL,
	subject    TEXT   NOT NULL,
	content    TEXT   NOT NULL,
	thread_id  TEXT   NOT NULL,
	reply_to   TEXT   NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE INDEX messages_workspace ON messages (workspace, row_id);
CREATE INDEX messages_agent ON messages (agent);
CREATE INDEX messages_oldest ON messages (created_at);

-- A message at each of its recipients, with the workspace of the message. The numbers of an agent rise in the order in
-- which its receipts are committed.
CREATE TABLE receipts (
	row_id     INTEGER PRIMARY KEY,
	message    BIGINT NOT NULL REFERENCES messages (row_id) ON DELETE CASCADE,
	agent      BIGINT NOT NULL REFERENCES agents (row_id) ON DELETE CASCADE,
	workspace  BIGINT NOT NULL,
	number     BIGINT NOT NULL,
	status     TEXT   NOT NULL,
	updated_at BIGINT NOT NULL,
	UNIQUE (agent, number),
	UNIQUE (message, agent)
);
CREATE INDEX receipts_open ON receipts (agent, number) WHERE status <> 'closed';
CREATE INDEX receipts_open_workspace ON receipts (agent, workspace, number) WHERE status <> 'closed';
CREATE INDEX receipts_closed_workspace ON receipts (agent, workspace, number) WHERE status = 'closed';

-- The files of memories. Their bytes are objects outside of the database, under the id. atlas is that of the memory. An
-- attachment is not active until its upload is confirmed. Then size, mime_type and sha256 are those of the object;
-- before they are announced, and sha256 may be empty. stored_sha256 is that of an uploaded object, where it is known.
CREATE TABLE attachments (
	row_id        INTEGER PRIMARY KEY,
	id            TEXT    NOT NULL UNIQUE,
	memory        BIGINT  NOT NULL REFERENCES memories (row_id) ON DELETE CASCADE,
	atlas         BIGINT  NOT NULL,
	created_by    TEXT    NOT NULL,
	file_name     TEXT    NOT NULL,
	size          BIGINT  NOT NULL,
	mime_type     TEXT    NOT NULL,
	sha256        TEXT    NOT NULL,
	stored_sha256 TEXT    NOT NULL,
	active        BOOLEAN NOT NULL,
	created_at    BIGINT  NOT NULL
);
CREATE INDEX attachments_memory ON attachments (memory);
CREATE INDEX attachments_atlas ON attachments (atlas, active, created_at, size);
CREATE INDEX attachments_pending ON attachments (created_by, created_at) WHERE NOT active;
