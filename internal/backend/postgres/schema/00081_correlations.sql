-- +goose Up
-- Which request began a run.
CREATE TABLE run_origin (
    run_id      BIGINT       NOT NULL PRIMARY KEY,
    correlation VARCHAR(255) COLLATE "C" NOT NULL,
    trace       VARCHAR(255) COLLATE "C" NOT NULL
);

-- +goose Down
DROP TABLE run_origin;
