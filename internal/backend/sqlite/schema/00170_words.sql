-- +goose Up
-- What is indexed of a document by its words. The id orders entries by the time of
-- their update; words are those that the index has of it, which are needed to take them
-- out again.
CREATE TABLE word_entry (
    id         INTEGER NOT NULL PRIMARY KEY,
    account_id INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    words      TEXT    NOT NULL
);
CREATE UNIQUE INDEX word_entry_key ON word_entry (account_id, kind, name);

-- The index itself, by the ids of entries. It gets words that are cut and folded
-- already, with spaces in between, and keeps neither texts nor positions.
CREATE VIRTUAL TABLE word_text USING fts5(words, content = '', columnsize = 0, detail = none, tokenize = 'ascii');

-- How far the index is, in its one row.
CREATE TABLE word_progress (
    id       INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    progress BLOB    NOT NULL
);

-- +goose Down
DROP TABLE word_progress;
DROP TABLE word_text;
DROP TABLE word_entry;
