-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- A number for what a document's row and payload hold, so that a copy that brings
-- nothing new is known as one; 0 for what was stored before.
SET @add_content = IF((SELECT COUNT(*) FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'document' AND column_name = 'content') > 0, 'DO 0',
    'ALTER TABLE document ADD COLUMN content BIGINT NOT NULL DEFAULT 0');
PREPARE add_content FROM @add_content;
EXECUTE add_content;
DEALLOCATE PREPARE add_content;

-- The log of changes: one row for what a transaction changes of an account. Its
-- changes get the positions up to the last one after it is committed, so that none
-- is skipped by who follows.
CREATE TABLE IF NOT EXISTS change_log (
    id            BIGINT   NOT NULL AUTO_INCREMENT PRIMARY KEY,
    account_id    BIGINT   NOT NULL,
    last_position BIGINT   NULL,
    count         BIGINT   NOT NULL,
    at            BIGINT   NOT NULL,
    entries       LONGBLOB NOT NULL,
    KEY change_log_position (last_position, id),
    KEY change_log_account (account_id, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Which feed it is, the last position that was given, and the last that was removed
-- for its age.
CREATE TABLE IF NOT EXISTS change_feed (
    id      BIGINT      NOT NULL PRIMARY KEY,
    feed    VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    newest  BIGINT      NOT NULL,
    trimmed BIGINT      NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO change_feed (id, feed, newest, trimmed) VALUES (1, REPLACE(UUID(), '-', ''), 0, 0);

-- +goose Down
DROP TABLE change_feed;
DROP TABLE change_log;
ALTER TABLE document DROP COLUMN content;
