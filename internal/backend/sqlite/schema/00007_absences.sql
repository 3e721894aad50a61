-- +goose Up
-- When a document was last seen, and what was claimed of its absence: why, when
-- first and when last. The claim holds unless it was seen after the last.
ALTER TABLE document ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE document ADD COLUMN gone_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE document ADD COLUMN gone_last INTEGER NOT NULL DEFAULT 0;
ALTER TABLE document ADD COLUMN gone_why TEXT NOT NULL DEFAULT '';

-- What was flagged so far, nobody knows since when.
UPDATE document SET gone_why = 'deleted', flags = flags & ~8 WHERE (flags & 8) <> 0;

-- The same of repositories, for everything in them: one row, however much that
-- is, is written when a repository goes and when it comes back.
CREATE TABLE repository_presence (
    account_id INTEGER NOT NULL,
    repository INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    gone_at    INTEGER NOT NULL DEFAULT 0,
    gone_last  INTEGER NOT NULL DEFAULT 0,
    gone_why   TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (account_id, repository)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE repository_presence;
UPDATE document SET flags = flags | 8 WHERE gone_why <> '' AND seen_at <= gone_last;
ALTER TABLE document DROP COLUMN gone_why;
ALTER TABLE document DROP COLUMN gone_last;
ALTER TABLE document DROP COLUMN gone_at;
ALTER TABLE document DROP COLUMN seen_at;
