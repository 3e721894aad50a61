-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- What is left of the ledger of a run whose jobs were deleted.
CREATE TABLE IF NOT EXISTS run_summary (
    run_id BIGINT       NOT NULL,
    type   VARCHAR(255) NOT NULL,
    known  BIGINT       NOT NULL,
    stored BIGINT       NOT NULL,
    failed BIGINT       NOT NULL,
    items  BIGINT       NOT NULL,
    PRIMARY KEY (run_id, type)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Which run a delivery of a webhook has begun.
CREATE TABLE IF NOT EXISTS run_delivery (
    account_id BIGINT     NOT NULL,
    delivery   BINARY(16) NOT NULL,
    run_id     BIGINT     NOT NULL,
    PRIMARY KEY (account_id, delivery),
    KEY run_delivery_run (run_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE run_delivery;
DROP TABLE run_summary;
