-- +goose Up
-- Lists of what somebody has made: the letters A to Z are the same in either case.
CREATE INDEX document_author ON document (kind, author COLLATE NOCASE, created_at, account_id, name) WHERE author <> '';

-- +goose Down
DROP INDEX document_author;
