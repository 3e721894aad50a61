-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- What was forecast of a run when first everything was found that it has to collect.
SET @add_expectations = IF((SELECT COUNT(*) FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'run' AND column_name = 'expected_at') > 0, 'DO 0',
    'ALTER TABLE run ADD COLUMN expected_at BIGINT NOT NULL DEFAULT 0, ADD COLUMN expected_calls BIGINT NOT NULL DEFAULT 0, ADD COLUMN expected_ends BIGINT NOT NULL DEFAULT 0');
PREPARE add_expectations FROM @add_expectations;
EXECUTE add_expectations;
DEALLOCATE PREPARE add_expectations;

-- +goose Down
ALTER TABLE run DROP COLUMN expected_ends, DROP COLUMN expected_calls, DROP COLUMN expected_at;
