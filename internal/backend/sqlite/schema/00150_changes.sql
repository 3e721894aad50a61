-- +goose Up
-- A number for what a document's row and payload hold, so that a copy that brings
-- nothing new is known as one; 0 for what was stored before.
ALTER TABLE document ADD COLUMN content INTEGER NOT NULL DEFAULT 0;

-- The log of changes: one row for what a transaction changes of an account, with
-- the positions up to the last one.
CREATE TABLE change_log (
    last_position INTEGER PRIMARY KEY,
    account_id    INTEGER NOT NULL,
    count         INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    entries       BLOB    NOT NULL
);
CREATE INDEX change_log_account ON change_log (account_id);

-- Which feed it is, the last position that was given, and the last that was removed
-- for its age.
CREATE TABLE change_feed (
    id      INTEGER PRIMARY KEY,
    feed    TEXT    NOT NULL,
    newest  INTEGER NOT NULL,
    trimmed INTEGER NOT NULL
);
INSERT INTO change_feed (id, feed, newest, trimmed) VALUES (1, lower(hex(randomblob(16))), 0, 0);

-- +goose Down
DROP TABLE change_feed;
DROP TABLE change_log;
ALTER TABLE document DROP COLUMN content;
