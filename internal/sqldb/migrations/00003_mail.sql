-- +goose Up
-- owner is the user whose transaction added the job, or empty. The owners of a kind take turns.
ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX jobs_turn ON jobs (kind, owner, due, row_id);

-- The mails to others that a user caused on a day (UTC, days since 1970).
CREATE TABLE mail_usage (
	user_id TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	day     BIGINT NOT NULL,
	mails   BIGINT NOT NULL,
	PRIMARY KEY (user_id, day)
) WITHOUT ROWID;
CREATE INDEX mail_usage_day ON mail_usage (day);

CREATE INDEX invitations_pending ON invitations (workspace, status, expires_at);
