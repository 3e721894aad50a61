-- Definitions end a transaction in MySQL, so that an interrupted migration is
-- half done: every statement can be repeated.

-- +goose Up
-- Tokens of the API. A token is known by its digest alone.
CREATE TABLE IF NOT EXISTS api_token (
    name         VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    role         VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    prefix       VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    digest       BINARY(32)  NOT NULL,
    created_at   BIGINT      NOT NULL,
    -- To the hour; 0 means never.
    last_used_at BIGINT      NOT NULL,
    -- 0 means that it does not end by itself.
    expires_at   BIGINT      NOT NULL
) ENGINE = InnoDB;

-- Who changed what over the API. Ids are in the order of time.
CREATE TABLE IF NOT EXISTS audit_entry (
    id      CHAR(32)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    at      BIGINT       NOT NULL,
    actor   VARCHAR(100) NOT NULL,
    role    VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    address VARCHAR(100) NOT NULL,
    action  VARCHAR(64)  NOT NULL,
    target  VARCHAR(500) NOT NULL,
    -- What was answered; 0 means that the process ended before.
    status  SMALLINT     NOT NULL,
    KEY audit_entry_actor (actor, id),
    KEY audit_entry_action (action, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE audit_entry;
DROP TABLE api_token;
