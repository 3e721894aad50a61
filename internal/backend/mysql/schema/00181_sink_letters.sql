-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- How far a sink is whose target cannot keep that itself.
CREATE TABLE IF NOT EXISTS sink_standing (
    sink     VARCHAR(128) NOT NULL PRIMARY KEY,
    standing LONGBLOB     NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
-- Batches that a receiver refused; at is an instant in microseconds.
CREATE TABLE IF NOT EXISTS sink_letter (
    id     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    sink   VARCHAR(128) NOT NULL,
    at     BIGINT       NOT NULL,
    status INT          NOT NULL,
    reason TEXT         NOT NULL,
    body   LONGBLOB     NOT NULL,
    KEY sink_letter_sink (sink, at, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE sink_letter;
DROP TABLE sink_standing;
