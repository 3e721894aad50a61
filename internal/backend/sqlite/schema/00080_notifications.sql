-- +goose Up
-- What people are told, a row for each message to each target.
CREATE TABLE notification (
    -- Grows with time.
    id         TEXT    NOT NULL PRIMARY KEY,
    target     TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    state      INTEGER NOT NULL,
    -- When something is to be done with it; NULL when nothing is.
    due_at     INTEGER NULL,
    attempt    INTEGER NOT NULL,
    tries      INTEGER NOT NULL,
    error      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    -- When it was sent or given up; NULL before.
    ended_at   INTEGER NULL,
    data       BLOB    NOT NULL
) WITHOUT ROWID;
CREATE INDEX notification_due ON notification (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX notification_state ON notification (state, id);
CREATE INDEX notification_target ON notification (target, id);
CREATE INDEX notification_ended ON notification (ended_at) WHERE ended_at IS NOT NULL;

-- What is part of a message already.
CREATE TABLE notification_event (
    key     TEXT    NOT NULL PRIMARY KEY,
    seen_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX notification_event_seen ON notification_event (seen_at);

-- When a target may be sent the next message of a kind.
CREATE TABLE notification_pace (
    target  TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    next_at INTEGER NOT NULL,
    PRIMARY KEY (target, kind)
) WITHOUT ROWID;

-- Up to when what happened was recorded, in its one row.
CREATE TABLE notification_mark (
    id INTEGER NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL
);
INSERT INTO notification_mark (id, at) VALUES (1, 0);

-- What is looked for since an instant.
CREATE INDEX notification_run ON run (finished_at, id) WHERE finished_at > 0;
CREATE INDEX notification_account ON account (state, updated_at, id);

-- +goose Down
DROP INDEX notification_account;
DROP INDEX notification_run;
DROP TABLE notification_mark;
DROP TABLE notification_pace;
DROP TABLE notification_event;
DROP TABLE notification;
