-- +goose Up
-- How far a sink is whose target cannot keep that itself.
CREATE TABLE sink_standing (
    sink     TEXT NOT NULL PRIMARY KEY,
    standing BLOB NOT NULL
);
-- Batches that a receiver refused; at is an instant in microseconds.
CREATE TABLE sink_letter (
    id     TEXT    NOT NULL PRIMARY KEY,
    sink   TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    status INTEGER NOT NULL,
    reason TEXT    NOT NULL,
    body   BLOB    NOT NULL
);
CREATE INDEX sink_letter_sink ON sink_letter (sink, at, id);

-- +goose Down
DROP TABLE sink_letter;
DROP TABLE sink_standing;
