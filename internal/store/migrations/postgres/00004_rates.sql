-- +goose Up

-- How quickly credentials call, where several servers let calls through: due is
-- when the next one would come if all came evenly (in nanoseconds since 1970), more
-- whether one more was let through the last time. No row is needed for long: what
-- is lost in a crash of the database waits for nothing on its way to the disk.
CREATE UNLOGGED TABLE rate_limits (
	credential TEXT    NOT NULL PRIMARY KEY,
	tat        BIGINT  NOT NULL,
	allowed       BOOLEAN NOT NULL
);
CREATE INDEX rate_limits_tat ON rate_limits (tat);
