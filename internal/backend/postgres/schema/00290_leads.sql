-- +goose Up
-- Who collects what several accounts with the same credential reach, and the run with
-- which it began to.
CREATE TABLE resource_lead (
    -- Stands for (source, credential, resource).
    identity   BYTEA  NOT NULL PRIMARY KEY CHECK (octet_length(identity) = 16),
    account_id BIGINT NOT NULL,
    run_id     BIGINT NOT NULL
);
CREATE INDEX resource_lead_account ON resource_lead (account_id, identity);

-- +goose Down
DROP TABLE resource_lead;
