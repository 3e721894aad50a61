-- +goose Up
-- What is indexed of a document by its words. The id orders entries by the time of
-- their update; words are those that the index has of it, which are needed to take them
-- out again.
CREATE TABLE word_entry (
    id         BIGINT NOT NULL PRIMARY KEY,
    -- Stands for account, kind and name.
    identity   BYTEA  NOT NULL CHECK (octet_length(identity) = 16),
    account_id BIGINT NOT NULL,
    kind       BYTEA  NOT NULL,
    name       BYTEA  NOT NULL,
    words      BYTEA  NOT NULL
);
CREATE UNIQUE INDEX word_entry_identity ON word_entry (identity);
CREATE INDEX word_entry_account ON word_entry (account_id, id);

-- The index itself: the newest entries with a word are at the end of its part.
CREATE TABLE word_posting (
    word BYTEA  NOT NULL,
    id   BIGINT NOT NULL,
    PRIMARY KEY (word, id)
);

-- How far the index is, in its one row.
CREATE TABLE word_progress (
    id       INTEGER NOT NULL PRIMARY KEY,
    progress BYTEA   NOT NULL
);
INSERT INTO word_progress (id, progress) VALUES (1, '');

-- +goose Down
DROP TABLE word_progress;
DROP TABLE word_posting;
DROP TABLE word_entry;
