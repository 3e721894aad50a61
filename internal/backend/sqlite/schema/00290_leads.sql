-- +goose Up
-- Who collects what several accounts with the same credential reach, and the run with
-- which it began to.
CREATE TABLE resource_lead (
    source     TEXT    NOT NULL,
    credential TEXT    NOT NULL,
    resource   TEXT    NOT NULL,
    account_id INTEGER NOT NULL,
    run_id     INTEGER NOT NULL,
    PRIMARY KEY (source, credential, resource)
) WITHOUT ROWID;
CREATE INDEX resource_lead_account ON resource_lead (account_id);

-- +goose Down
DROP TABLE resource_lead;
