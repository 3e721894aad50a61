-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- Who collects what several accounts with the same credential reach, and the run with
-- which it began to.
CREATE TABLE IF NOT EXISTS resource_lead (
    -- Stands for (source, credential, resource).
    identity   BINARY(16) NOT NULL PRIMARY KEY,
    account_id BIGINT     NOT NULL,
    run_id     BIGINT     NOT NULL,
    KEY resource_lead_account (account_id, identity)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE resource_lead;
