-- +goose Up
-- What lists of documents go along. What has no instant of an update, such as a
-- commit, is in none of the indexes of these.
CREATE INDEX document_created ON document (kind, created_at, account_id, name);
CREATE INDEX document_account_created ON document (account_id, kind, created_at, name);
CREATE INDEX document_repository ON document (repository, kind, created_at, account_id, name);
CREATE INDEX document_updated ON document (kind, updated_at, account_id, name) WHERE updated_at > 0;
CREATE INDEX document_account_updated ON document (account_id, kind, updated_at, name) WHERE updated_at > 0;
CREATE INDEX document_gone ON document (kind, account_id, name) WHERE gone_why <> '';
CREATE INDEX repository_gone ON repository_presence (account_id, repository) WHERE gone_why <> '';

-- +goose Down
DROP INDEX repository_gone;
DROP INDEX document_gone;
DROP INDEX document_account_updated;
DROP INDEX document_updated;
DROP INDEX document_repository;
DROP INDEX document_account_created;
DROP INDEX document_created;
