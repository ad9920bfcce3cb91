-- +goose Up
-- The hash of the secret in an invitation's link; NULL once the invitation is answered.
ALTER TABLE invitations ADD COLUMN token_hash BLOB;
CREATE UNIQUE INDEX invitations_token ON invitations (token_hash) WHERE token_hash IS NOT NULL;

-- An account without a password was made by the operator, who vouches for its address.
UPDATE users SET verified = true WHERE password = '';
