-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- What is indexed of a document by its words. The id orders entries by the time of
-- their update; words are those that the index has of it, which are needed to take them
-- out again.
CREATE TABLE IF NOT EXISTS word_entry (
    id         BIGINT     NOT NULL PRIMARY KEY,
    -- Stands for account, kind and name.
    identity   BINARY(16) NOT NULL,
    account_id BIGINT     NOT NULL,
    kind       BLOB       NOT NULL,
    name       BLOB       NOT NULL,
    words      LONGBLOB   NOT NULL,
    UNIQUE KEY word_entry_identity (identity),
    KEY word_entry_account (account_id, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The index itself: the newest entries with a word are at the end of its part.
CREATE TABLE IF NOT EXISTS word_posting (
    word VARBINARY(160) NOT NULL,
    id   BIGINT         NOT NULL,
    PRIMARY KEY (word, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- How far the index is, in its one row.
CREATE TABLE IF NOT EXISTS word_progress (
    id       INT  NOT NULL PRIMARY KEY,
    progress BLOB NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO word_progress (id, progress) VALUES (1, '');

-- +goose Down
DROP TABLE word_progress;
DROP TABLE word_posting;
DROP TABLE word_entry;
