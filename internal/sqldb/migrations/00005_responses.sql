-- +goose Up
-- Links to stored responses are short row ids. The key is a hash of the credential and its Idempotency-Key. Rows of
-- schema 4 have both instead, with a slash between them. The owner is the row of the user, or 0.
ALTER TABLE idempotency_records RENAME TO former_records;
ALTER TABLE idempotency_keys RENAME TO former_keys;
-- postgres: ALTER INDEX idempotency_keys_pkey RENAME TO former_keys_pkey;
-- postgres: ALTER INDEX idempotency_records_pkey RENAME TO former_records_pkey;
CREATE TABLE idempotency_keys (
	row_id      INTEGER PRIMARY KEY,
	key         TEXT    NOT NULL UNIQUE,
	owner       BIGINT  NOT NULL,
	fingerprint BLOB    NOT NULL,
	created     BOOLEAN NOT NULL,
	response    BLOB    NOT NULL,
	created_at  BIGINT  NOT NULL
);
INSERT INTO idempotency_keys (key, owner, fingerprint, created, response, created_at)
	SELECT f.credential || '/' || f.key, COALESCE((SELECT u.row_id FROM users u WHERE u.id = COALESCE(
		(SELECT k.user_id FROM api_keys k WHERE k.id = f.credential),
		(SELECT s.user_id FROM sign_ins s WHERE s.id = f.credential),
		(SELECT g.user_id FROM grants g WHERE g.id = f.credential), f.credential)), 0),
		substr(f.fingerprint, 1, 16), f.created, f.response, f.created_at
	FROM former_keys f;

-- The records that a stored response shows. The deletion of one of them deletes the response. The response of a read
-- also has the record 'read/', followed by the credential.
CREATE TABLE idempotency_records (
	record   TEXT   NOT NULL,
	response BIGINT NOT NULL REFERENCES idempotency_keys (row_id) ON DELETE CASCADE,
	PRIMARY KEY (record, response)
) WITHOUT ROWID;
INSERT INTO idempotency_records (record, response)
	SELECT CASE WHEN f.record = 'read' THEN 'read/' || f.credential ELSE f.record END, k.row_id
	FROM former_records f JOIN idempotency_keys k ON k.key = f.credential || '/' || f.key;
DROP TABLE former_records;
DROP TABLE former_keys;
CREATE INDEX idempotency_keys_made ON idempotency_keys (created_at);
CREATE INDEX idempotency_records_response ON idempotency_records (response);
