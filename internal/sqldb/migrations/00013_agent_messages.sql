-- +goose Up
-- What an agent has received in the order of the messages, for its owner.
CREATE INDEX receipts_message ON receipts (agent, message);
-- Memories by their last review.
CREATE INDEX memories_verified_at ON memories (atlas, verified_at) WHERE verified_at > 0;
