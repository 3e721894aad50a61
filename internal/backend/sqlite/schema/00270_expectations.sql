-- +goose Up
-- What was forecast of a run when first everything was found that it has to collect.
ALTER TABLE run ADD COLUMN expected_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN expected_calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN expected_ends INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE run DROP COLUMN expected_ends;
ALTER TABLE run DROP COLUMN expected_calls;
ALTER TABLE run DROP COLUMN expected_at;
