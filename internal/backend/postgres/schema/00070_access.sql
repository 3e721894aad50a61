-- +goose Up
-- Tokens of the API. A token is known by its digest alone.
CREATE TABLE api_token (
    name         VARCHAR(63) COLLATE "C" NOT NULL PRIMARY KEY,
    role         VARCHAR(16) COLLATE "C" NOT NULL,
    prefix       VARCHAR(32) COLLATE "C" NOT NULL,
    digest       BYTEA       NOT NULL CHECK (octet_length(digest) = 32),
    created_at   BIGINT      NOT NULL,
    -- To the hour; 0 means never.
    last_used_at BIGINT      NOT NULL,
    -- 0 means that it does not end by itself.
    expires_at   BIGINT      NOT NULL
);

-- Who changed what over the API. Ids are in the order of time.
CREATE TABLE audit_entry (
    id      VARCHAR(32)  COLLATE "C" NOT NULL PRIMARY KEY,
    at      BIGINT       NOT NULL,
    actor   VARCHAR(100) COLLATE "C" NOT NULL,
    role    VARCHAR(16)  COLLATE "C" NOT NULL,
    address VARCHAR(100) COLLATE "C" NOT NULL,
    action  VARCHAR(64)  COLLATE "C" NOT NULL,
    target  VARCHAR(500) COLLATE "C" NOT NULL,
    -- What was answered; 0 means that the process ended before.
    status  SMALLINT     NOT NULL
);
CREATE INDEX audit_entry_actor ON audit_entry (actor, id);
CREATE INDEX audit_entry_action ON audit_entry (action, id);

-- +goose Down
DROP TABLE audit_entry;
DROP TABLE api_token;
