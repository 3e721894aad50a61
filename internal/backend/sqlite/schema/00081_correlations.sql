-- +goose Up
-- Which request began a run.
CREATE TABLE run_origin (
    run_id      INTEGER NOT NULL PRIMARY KEY,
    correlation TEXT    NOT NULL,
    trace       TEXT    NOT NULL
);

-- +goose Down
DROP TABLE run_origin;
