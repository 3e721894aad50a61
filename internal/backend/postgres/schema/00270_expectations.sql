-- +goose Up
-- What was forecast of a run when first everything was found that it has to collect.
ALTER TABLE run ADD COLUMN expected_at BIGINT NOT NULL DEFAULT 0, ADD COLUMN expected_calls BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN expected_ends BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE run DROP COLUMN expected_ends, DROP COLUMN expected_calls, DROP COLUMN expected_at;
