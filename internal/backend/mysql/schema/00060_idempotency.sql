-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- Answers to requests that came with a key, by a hash of caller and key.
CREATE TABLE IF NOT EXISTS idempotency (
    id          BINARY(32) NOT NULL PRIMARY KEY,
    fingerprint BINARY(32) NOT NULL,
    holder      BIGINT     NOT NULL,
    -- Instants in microseconds: when the holder is taken to be gone, and when all
    -- of it is forgotten.
    until       BIGINT     NOT NULL,
    expires     BIGINT     NOT NULL,
    answered    TINYINT    NOT NULL,
    key_id      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    answer      LONGBLOB   NOT NULL,
    KEY idempotency_expires (expires)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE idempotency;
