-- +goose Up
-- Answers to requests that came with a key, by a hash of caller and key.
CREATE TABLE idempotency (
    id          BYTEA       NOT NULL PRIMARY KEY CHECK (octet_length(id) = 32),
    fingerprint BYTEA       NOT NULL CHECK (octet_length(fingerprint) = 32),
    holder      BIGINT      NOT NULL,
    -- Instants in microseconds: when the holder is taken to be gone, and when all
    -- of it is forgotten.
    until       BIGINT      NOT NULL,
    expires     BIGINT      NOT NULL,
    answered    SMALLINT    NOT NULL,
    key_id      VARCHAR(64) COLLATE "C" NOT NULL,
    answer      BYTEA       NOT NULL
);
CREATE INDEX idempotency_expires ON idempotency (expires);

-- +goose Down
DROP TABLE idempotency;
