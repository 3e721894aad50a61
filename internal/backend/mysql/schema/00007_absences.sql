-- Every statement can be repeated, as an interrupted migration is half done. A
-- column that is there cannot be added again, and not every server takes IF NOT
-- EXISTS: the four come together or not at all.

-- +goose Up
-- When a document was last seen, and what was claimed of its absence: why, when
-- first and when last. The claim holds unless it was seen after the last.
SET @add_absences = IF((SELECT COUNT(*) FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'document' AND column_name = 'gone_why') > 0, 'DO 0',
    'ALTER TABLE document ADD COLUMN seen_at BIGINT NOT NULL DEFAULT 0, ADD COLUMN gone_at BIGINT NOT NULL DEFAULT 0,
        ADD COLUMN gone_last BIGINT NOT NULL DEFAULT 0, ADD COLUMN gone_why VARBINARY(32) NOT NULL DEFAULT ''''');
PREPARE add_absences FROM @add_absences;
EXECUTE add_absences;
DEALLOCATE PREPARE add_absences;

-- What was flagged so far, nobody knows since when.
UPDATE document SET gone_why = 'deleted', flags = flags & ~8 WHERE (flags & 8) <> 0;

-- The same of repositories, for everything in them: one row, however much that
-- is, is written when a repository goes and when it comes back.
CREATE TABLE IF NOT EXISTS repository_presence (
    account_id BIGINT        NOT NULL,
    repository BIGINT        NOT NULL,
    seen_at    BIGINT        NOT NULL,
    gone_at    BIGINT        NOT NULL DEFAULT 0,
    gone_last  BIGINT        NOT NULL DEFAULT 0,
    gone_why   VARBINARY(32) NOT NULL DEFAULT '',
    PRIMARY KEY (account_id, repository)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE repository_presence;
UPDATE document SET flags = flags | 8 WHERE gone_why <> '' AND seen_at <= gone_last;
ALTER TABLE document DROP COLUMN gone_why, DROP COLUMN gone_last, DROP COLUMN gone_at, DROP COLUMN seen_at;
