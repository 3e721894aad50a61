-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- What the login names: a user, an organisation, a repository; empty until it is known.
SET @add_targets = IF((SELECT COUNT(*) FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'account' AND column_name = 'target') > 0, 'DO 0',
    'ALTER TABLE account ADD COLUMN target VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT ''''');
PREPARE add_targets FROM @add_targets;
EXECUTE add_targets;
DEALLOCATE PREPARE add_targets;

-- +goose Down
ALTER TABLE account DROP COLUMN target;
