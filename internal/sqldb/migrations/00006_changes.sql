-- +goose Up
-- Lists of memories by the time of their last change.
CREATE INDEX memories_changed ON memories (workspace, status, updated_at, id);
CREATE INDEX memories_changed_of_atlas ON memories (atlas, status, updated_at, id);
