-- +goose Up
-- The last known value of each entity, without its body: to note that it was
-- looked at again rewrites a small row.
CREATE TABLE snapshot (
    source       TEXT    NOT NULL,
    key          TEXT    NOT NULL,
    -- That of the last refresh, also if it found nothing new.
    seen_version INTEGER NOT NULL,
    -- That of the refresh that brought the value.
    version      INTEGER NOT NULL,
    hash         BLOB    NOT NULL,
    checked_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    read_at      INTEGER NOT NULL DEFAULT 0,
    tier         INTEGER NOT NULL,
    due_at       INTEGER NOT NULL,
    -- How much the compressed body takes.
    bytes        INTEGER NOT NULL,
    PRIMARY KEY (source, key)
) WITHOUT ROWID;
CREATE INDEX snapshot_due ON snapshot (source, due_at);

-- The bodies: those of present values and those of the history. A value that
-- is both is stored once.
CREATE TABLE snapshot_value (
    -- Never given twice, so that a listing knows what came after it began.
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    source    TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    version   INTEGER NOT NULL,
    hash      BLOB    NOT NULL,
    stored_at INTEGER NOT NULL,
    -- Whether it is part of the history; if not, it is a present value.
    listed    INTEGER NOT NULL,
    -- The last, so that the others are read without it.
    body      BLOB    NOT NULL
);
CREATE UNIQUE INDEX snapshot_value_identity ON snapshot_value (source, key, version, hash);
CREATE INDEX snapshot_value_listed ON snapshot_value (stored_at) WHERE listed = 1;

-- Only what is wrong has a row.
CREATE TABLE snapshot_status (
    source  TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    version INTEGER NOT NULL,
    code    TEXT    NOT NULL,
    tries   INTEGER NOT NULL,
    error   TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (source, key)
) WITHOUT ROWID;

-- The columns beside the data are what letters are looked for by.
CREATE TABLE dead_letter (
    id        TEXT    NOT NULL PRIMARY KEY,
    why       TEXT    NOT NULL,
    source    TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    buried_at INTEGER NOT NULL,
    data      BLOB    NOT NULL
);
CREATE INDEX dead_letter_buried ON dead_letter (buried_at, id);
CREATE INDEX dead_letter_why ON dead_letter (why, buried_at, id);
CREATE INDEX dead_letter_entity ON dead_letter (source, key, buried_at, id);

-- +goose Down
DROP TABLE dead_letter;
DROP TABLE snapshot_status;
DROP TABLE snapshot_value;
DROP TABLE snapshot;
