-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- Lists of what somebody has made: letters are the same in either case. What is longer
-- than any login is cut, as an entry of an index has little room.
SET @add_author = IF((SELECT COUNT(*) FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'document' AND column_name = 'author_key') > 0, 'DO 0',
    'ALTER TABLE document ADD COLUMN author_key VARCHAR(100) AS (LOWER(LEFT(author, 100))) VIRTUAL');
PREPARE add_author FROM @add_author;
EXECUTE add_author;
DEALLOCATE PREPARE add_author;
SET @add_author = IF((SELECT COUNT(*) FROM information_schema.statistics
        WHERE table_schema = DATABASE() AND table_name = 'document' AND index_name = 'document_author') > 0, 'DO 0',
    'ALTER TABLE document ADD KEY document_author (kind, author_key, created_at, account_id, name)');
PREPARE add_author FROM @add_author;
EXECUTE add_author;
DEALLOCATE PREPARE add_author;

-- +goose Down
ALTER TABLE document DROP KEY document_author, DROP COLUMN author_key;
