-- +goose Up
-- When an atlas or a workspace was archived, and who did that.
ALTER TABLE atlases ADD COLUMN archived_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE atlases ADD COLUMN archived_by TEXT NOT NULL DEFAULT '';
ALTER TABLE workspaces ADD COLUMN archived_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workspaces ADD COLUMN archived_by TEXT NOT NULL DEFAULT '';
-- Memories whose validity ends.
CREATE INDEX memories_expiring ON memories (workspace, valid_until) WHERE valid_until > 0;
