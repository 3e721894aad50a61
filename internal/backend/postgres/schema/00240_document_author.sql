-- +goose Up
-- Lists of what somebody has made: the letters A to Z are the same in either case. What
-- is longer than any login is cut, as an entry of an index has little room.
CREATE INDEX document_author ON document (kind, LOWER(LEFT(author, 100)), created_at, account_id, name) WHERE author <> '';

-- +goose Down
DROP INDEX document_author;
