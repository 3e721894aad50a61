-- Every statement can be repeated, as an interrupted migration is half done. What
-- is there cannot be added again, and not every server takes IF NOT EXISTS: what
-- is added to a table comes together or not at all.

-- +goose Up
-- What lists of documents go along.
SET @add_lists = IF((SELECT COUNT(*) FROM information_schema.statistics
        WHERE table_schema = DATABASE() AND table_name = 'document' AND index_name = 'document_created') > 0, 'DO 0',
    'ALTER TABLE document ADD KEY document_created (kind, created_at, account_id, name),
        ADD KEY document_account_created (account_id, kind, created_at, name),
        ADD KEY document_repository (repository, kind, created_at, account_id, name),
        ADD KEY document_updated (kind, updated_at, account_id, name),
        ADD KEY document_account_updated (account_id, kind, updated_at, name),
        ADD KEY document_gone (gone_why, kind, account_id, name)');
PREPARE add_lists FROM @add_lists;
EXECUTE add_lists;
DEALLOCATE PREPARE add_lists;
SET @add_lists = IF((SELECT COUNT(*) FROM information_schema.statistics
        WHERE table_schema = DATABASE() AND table_name = 'repository_presence' AND index_name = 'repository_gone') > 0, 'DO 0',
    'ALTER TABLE repository_presence ADD KEY repository_gone (gone_why, account_id, repository)');
PREPARE add_lists FROM @add_lists;
EXECUTE add_lists;
DEALLOCATE PREPARE add_lists;

-- +goose Down
ALTER TABLE repository_presence DROP KEY repository_gone;
ALTER TABLE document DROP KEY document_gone, DROP KEY document_account_updated, DROP KEY document_updated,
    DROP KEY document_repository, DROP KEY document_account_created, DROP KEY document_created;
