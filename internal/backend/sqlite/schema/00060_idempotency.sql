-- +goose Up
-- Answers to requests that came with a key, by a hash of caller and key.
CREATE TABLE idempotency (
    id          BLOB    NOT NULL PRIMARY KEY,
    fingerprint BLOB    NOT NULL,
    holder      INTEGER NOT NULL,
    -- Instants in microseconds: when the holder is taken to be gone, and when all
    -- of it is forgotten.
    until       INTEGER NOT NULL,
    expires     INTEGER NOT NULL,
    answered    INTEGER NOT NULL,
    key_id      TEXT    NOT NULL,
    answer      BLOB    NOT NULL
);
CREATE INDEX idempotency_expires ON idempotency (expires);

-- +goose Down
DROP TABLE idempotency;
