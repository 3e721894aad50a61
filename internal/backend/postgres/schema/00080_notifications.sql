-- +goose Up
-- What people are told, a row for each message to each target.
CREATE TABLE notification (
    -- Grows with time.
    id         VARCHAR(64)  COLLATE "C" NOT NULL PRIMARY KEY,
    target     VARCHAR(64)  COLLATE "C" NOT NULL,
    kind       VARCHAR(64)  COLLATE "C" NOT NULL,
    state      SMALLINT     NOT NULL,
    -- When something is to be done with it; 0 when nothing is.
    due_at     BIGINT       NOT NULL,
    attempt    BIGINT       NOT NULL,
    tries      BIGINT       NOT NULL,
    error      TEXT         COLLATE "C" NOT NULL,
    created_at BIGINT       NOT NULL,
    -- When it was sent or given up; 0 before.
    ended_at   BIGINT       NOT NULL,
    data       BYTEA        NOT NULL
);
CREATE INDEX notification_due ON notification (due_at) WHERE due_at > 0;
CREATE INDEX notification_state ON notification (state, id);
CREATE INDEX notification_target ON notification (target, id);
CREATE INDEX notification_ended ON notification (ended_at) WHERE ended_at > 0;

-- What is part of a message already.
CREATE TABLE notification_event (
    -- Stands for the key of the event.
    identity BYTEA  NOT NULL PRIMARY KEY CHECK (octet_length(identity) = 16),
    seen_at  BIGINT NOT NULL
);
CREATE INDEX notification_event_seen ON notification_event (seen_at);

-- When a target may be sent the next message of a kind.
CREATE TABLE notification_pace (
    target  VARCHAR(64) COLLATE "C" NOT NULL,
    kind    VARCHAR(64) COLLATE "C" NOT NULL,
    next_at BIGINT      NOT NULL,
    PRIMARY KEY (target, kind)
);

-- Up to when what happened was recorded, in its one row.
CREATE TABLE notification_mark (
    id SMALLINT NOT NULL PRIMARY KEY,
    at BIGINT   NOT NULL
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
