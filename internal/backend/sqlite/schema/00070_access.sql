-- +goose Up
-- Tokens of the API. A token is known by its digest alone.
CREATE TABLE api_token (
    name         TEXT    NOT NULL PRIMARY KEY,
    role         TEXT    NOT NULL,
    prefix       TEXT    NOT NULL,
    digest       BLOB    NOT NULL,
    created_at   INTEGER NOT NULL,
    -- To the hour; 0 means never.
    last_used_at INTEGER NOT NULL,
    -- 0 means that it does not end by itself.
    expires_at   INTEGER NOT NULL
) WITHOUT ROWID;

-- Who changed what over the API. Ids are in the order of time.
CREATE TABLE audit_entry (
    id      TEXT    NOT NULL PRIMARY KEY,
    at      INTEGER NOT NULL,
    actor   TEXT    NOT NULL,
    role    TEXT    NOT NULL,
    address TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    target  TEXT    NOT NULL,
    -- What was answered; 0 means that the process ended before.
    status  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX audit_entry_actor ON audit_entry (actor, id);
CREATE INDEX audit_entry_action ON audit_entry (action, id);

-- +goose Down
DROP TABLE audit_entry;
DROP TABLE api_token;
