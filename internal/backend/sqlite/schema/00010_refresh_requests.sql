-- +goose Up
-- What was accepted and is not done, one row for each entity, and what waits for
-- an instant.
CREATE TABLE refresh_request (
    source     TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    priority   INTEGER NOT NULL,
    -- How often the upstream has put it off.
    waits      INTEGER NOT NULL,
    -- When it comes back; NULL if it is in the log.
    not_before INTEGER NULL,
    code       TEXT    NOT NULL,
    error      TEXT    NOT NULL,
    event      BLOB    NOT NULL,
    PRIMARY KEY (source, key)
) WITHOUT ROWID;
CREATE INDEX refresh_request_due ON refresh_request (not_before) WHERE not_before IS NOT NULL;

-- Which life of the log what was accepted has been published in.
CREATE TABLE refresh_log (
    topic TEXT NOT NULL PRIMARY KEY,
    epoch TEXT NOT NULL
);

-- No version above the mark of its one row was given out.
CREATE TABLE refresh_version (
    id   INTEGER NOT NULL PRIMARY KEY,
    mark INTEGER NOT NULL
);
INSERT INTO refresh_version (id, mark) SELECT 1, coalesce(max(seen_version), 0) FROM snapshot;

-- Up to when the prefetch of a source has asked for as much as it may.
CREATE TABLE refresh_pace (
    source  TEXT    NOT NULL PRIMARY KEY,
    next_at INTEGER NOT NULL
);

ALTER TABLE snapshot_status ADD COLUMN error_code TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshot_status ADD COLUMN next_retry_at INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE snapshot_status DROP COLUMN next_retry_at;
ALTER TABLE snapshot_status DROP COLUMN error_code;
DROP TABLE refresh_pace;
DROP TABLE refresh_version;
DROP TABLE refresh_log;
DROP TABLE refresh_request;
