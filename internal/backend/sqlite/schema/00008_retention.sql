-- +goose Up
-- What is left of the ledger of a run whose jobs were deleted.
CREATE TABLE run_summary (
    run_id INTEGER NOT NULL,
    type   TEXT    NOT NULL,
    known  INTEGER NOT NULL,
    stored INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    items  INTEGER NOT NULL,
    PRIMARY KEY (run_id, type)
) WITHOUT ROWID;

-- Which run a delivery of a webhook has begun.
CREATE TABLE run_delivery (
    account_id INTEGER NOT NULL,
    delivery   TEXT    NOT NULL,
    run_id     INTEGER NOT NULL,
    PRIMARY KEY (account_id, delivery)
) WITHOUT ROWID;
CREATE INDEX run_delivery_run ON run_delivery (run_id);

-- +goose Down
DROP TABLE run_delivery;
DROP TABLE run_summary;
