-- +goose Up

-- How quickly credentials call, where several servers let calls through: due is
-- when the next one would come if all came evenly (in nanoseconds since 1970), more
-- whether one more was let through the last time. No row is needed for long.
CREATE TABLE rates (
	credential TEXT    NOT NULL PRIMARY KEY,
	due        BIGINT  NOT NULL,
	more       BOOLEAN NOT NULL
) WITHOUT ROWID;
CREATE INDEX rates_due ON rates (due);
