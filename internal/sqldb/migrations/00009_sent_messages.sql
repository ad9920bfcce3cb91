-- +goose Up
-- The messages of a sender, newest first: all of them, or those of a workspace.
DROP INDEX messages_agent;
CREATE INDEX messages_sent ON messages (agent, row_id);
CREATE INDEX messages_sent_workspace ON messages (agent, workspace, row_id);
