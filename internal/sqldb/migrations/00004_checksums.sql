-- +goose Up
-- The checksum of a row covers its columns, except those in unsummed in checksum.go.
ALTER TABLE users ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE referrals ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE benefits ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sign_ins ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workspaces ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE members ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE invitations ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tokens ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE atlases ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE generations ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE metadata ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE oauth_clients ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE grants ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE grant_workspaces ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE grant_tokens ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sync_pairs ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE units ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE candidates ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE session_events ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE session_history ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE redaction_audits ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE compilations ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE policies ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE versions ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE receipts ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE attachments ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE vectors ADD COLUMN row_checksum BIGINT NOT NULL DEFAULT 0;
-- The former checksums covered the fields of memories and versions, and vectors. Rows that contradict them are marked in
-- metadata before: they get a checksum that they contradict.
ALTER TABLE memories DROP COLUMN checksum;
ALTER TABLE versions DROP COLUMN checksum;
ALTER TABLE vectors DROP COLUMN checksum;
-- postgres: CREATE FUNCTION loci_checksum(name TEXT, value TEXT) RETURNS BIGINT IMMUTABLE PARALLEL SAFE
-- postgres: RETURN CASE WHEN value IS NULL THEN 0
-- postgres: ELSE CAST(CAST('x' || substr(md5(name || ':' || value), 1, 16) AS BIT(64)) AS BIGINT) END;
-- compute checksums
UPDATE memories SET row_checksum = ~row_checksum WHERE 'damaged memories ' || row_id IN (SELECT name FROM metadata);
UPDATE versions SET row_checksum = ~row_checksum
	WHERE 'damaged versions ' || memory || ' ' || version IN (SELECT name FROM metadata);
UPDATE vectors SET row_checksum = ~row_checksum WHERE 'damaged vectors ' || row_id IN (SELECT name FROM metadata);
DELETE FROM metadata WHERE name LIKE 'damaged %';
