-- Every statement can be repeated, as an interrupted migration is half done. What
-- is there cannot be added again, and not every server takes IF NOT EXISTS: what
-- is added to a table comes together or not at all.

-- +goose Up
-- When the attempt that a job is at, or was ended by, was begun; and what lists walk
-- along: jobs of an account, and those that failed, each in id order. A claim moves
-- no entry of them.
SET @add_lists = IF((SELECT COUNT(*) FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'job' AND column_name = 'failed') > 0, 'DO 0',
    'ALTER TABLE job ADD COLUMN started_at BIGINT NOT NULL DEFAULT 0,
        ADD COLUMN failed TINYINT GENERATED ALWAYS AS (IF(done = 1 AND status = 6, 1, NULL)) STORED,
        ADD KEY job_account (account_id), ADD KEY job_failed (failed)');
PREPARE add_lists FROM @add_lists;
EXECUTE add_lists;
DEALLOCATE PREPARE add_lists;
SET @add_lists = IF((SELECT COUNT(*) FROM information_schema.statistics
        WHERE table_schema = DATABASE() AND table_name = 'run' AND index_name = 'run_status') > 0, 'DO 0',
    'ALTER TABLE run ADD KEY run_status (status)');
PREPARE add_lists FROM @add_lists;
EXECUTE add_lists;
DEALLOCATE PREPARE add_lists;
SET @add_lists = IF((SELECT COUNT(*) FROM information_schema.statistics
        WHERE table_schema = DATABASE() AND table_name = 'account' AND index_name = 'account_owner') > 0, 'DO 0',
    'ALTER TABLE account ADD COLUMN owner_md5 CHAR(32) CHARACTER SET ascii COLLATE ascii_bin GENERATED ALWAYS AS (MD5(owner)) STORED,
        ADD KEY account_owner (owner_md5)');
PREPARE add_lists FROM @add_lists;
EXECUTE add_lists;
DEALLOCATE PREPARE add_lists;
SET @add_lists = IF((SELECT COUNT(*) FROM information_schema.statistics
        WHERE table_schema = DATABASE() AND table_name = 'dead_letter' AND index_name = 'dead_letter_key') > 0, 'DO 0',
    'ALTER TABLE dead_letter ADD KEY dead_letter_key (entity_key, buried_at, id)');
PREPARE add_lists FROM @add_lists;
EXECUTE add_lists;
DEALLOCATE PREPARE add_lists;

-- +goose Down
ALTER TABLE dead_letter DROP KEY dead_letter_key;
ALTER TABLE account DROP KEY account_owner, DROP COLUMN owner_md5;
ALTER TABLE run DROP KEY run_status;
ALTER TABLE job DROP KEY job_failed, DROP KEY job_account, DROP COLUMN failed, DROP COLUMN started_at;
