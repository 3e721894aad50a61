-- +goose Up
-- A part of a topic of the event log.
CREATE TABLE eventlog_partition (
    id     INTEGER PRIMARY KEY,
    topic  TEXT    NOT NULL,
    number INTEGER NOT NULL,
    -- The offset of the latest record; it outlives the record.
    last   INTEGER NOT NULL DEFAULT 0,
    UNIQUE (topic, number)
);

-- What is in a partition. A record goes when every group has dealt with it.
CREATE TABLE eventlog_record (
    partition_id INTEGER NOT NULL,
    position     INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    key          BLOB    NOT NULL,
    value        BLOB    NOT NULL,
    PRIMARY KEY (partition_id, position)
) WITHOUT ROWID;

-- Up to where a group of consumers has dealt with a partition.
CREATE TABLE eventlog_group (
    partition_id INTEGER NOT NULL,
    name         TEXT    NOT NULL,
    done         INTEGER NOT NULL,
    PRIMARY KEY (partition_id, name)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE eventlog_group;
DROP TABLE eventlog_record;
DROP TABLE eventlog_partition;
