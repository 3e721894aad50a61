-- +goose Up
-- How far a sink is whose target cannot keep that itself.
CREATE TABLE sink_standing (
    sink     VARCHAR(128) COLLATE "C" NOT NULL PRIMARY KEY,
    standing BYTEA NOT NULL
);
-- Batches that a receiver refused; at is an instant in microseconds.
CREATE TABLE sink_letter (
    id     VARCHAR(64)  COLLATE "C" NOT NULL PRIMARY KEY,
    sink   VARCHAR(128) COLLATE "C" NOT NULL,
    at     BIGINT  NOT NULL,
    status INTEGER NOT NULL,
    reason TEXT    NOT NULL,
    body   BYTEA   NOT NULL
);
CREATE INDEX sink_letter_sink ON sink_letter (sink, at, id);

-- +goose Down
DROP TABLE sink_letter;
DROP TABLE sink_standing;
