-- +goose Up
-- The last changes, which the streams of people read: a row for each record that a transaction has changed in a
-- workspace. The record is its kind, its id, and the user where other members cannot read it.
CREATE TABLE changes (
	row_id    INTEGER PRIMARY KEY AUTOINCREMENT, -- a number is used once
	workspace INTEGER NOT NULL,
	record    TEXT    NOT NULL
);
