-- Definitions end a transaction in MySQL, so that an interrupted migration is
-- half done: every statement can be repeated.

-- +goose Up
CREATE TABLE IF NOT EXISTS timer (
    -- Bytes: compared as they are, letters in upper and lower case and spaces
    -- at the end included.
    id       VARBINARY(255) NOT NULL PRIMARY KEY,
    at       BIGINT         NOT NULL DEFAULT 0,
    set_at   BIGINT         NOT NULL DEFAULT 0,
    status   TINYINT        NOT NULL,
    webhook  VARCHAR(2048)  NOT NULL DEFAULT '',
    -- When something is to be done with it; 0 when nothing is.
    next_at  BIGINT         NOT NULL,
    -- When it fired, or was canceled; 0 before.
    ended_at BIGINT         NOT NULL DEFAULT 0,
    server   VARBINARY(255) NOT NULL DEFAULT '',
    tries    BIGINT         NOT NULL DEFAULT 0,
    error    LONGTEXT       NOT NULL DEFAULT (''),
    payload  MEDIUMBLOB     NOT NULL DEFAULT (''),
    -- The transaction that stored it, so that this can tell which are its own.
    stored_by BIGINT        NOT NULL DEFAULT 0,
    KEY timer_next (next_at, id),
    KEY timer_ended (ended_at, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE timer;
