-- +goose Up
-- How many calls of a day are taken to have been made.
CREATE TABLE IF NOT EXISTS rate_day (
    upstream VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    day      CHAR(10)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    calls    BIGINT NOT NULL,
    low      BIGINT NOT NULL,
    PRIMARY KEY (upstream, day)
);

-- +goose Down
DROP TABLE rate_day;
