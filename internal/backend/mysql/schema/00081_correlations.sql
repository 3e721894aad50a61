-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- Which request began a run.
CREATE TABLE IF NOT EXISTS run_origin (
    run_id      BIGINT       NOT NULL PRIMARY KEY,
    correlation VARCHAR(255) NOT NULL,
    trace       VARCHAR(255) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE run_origin;
