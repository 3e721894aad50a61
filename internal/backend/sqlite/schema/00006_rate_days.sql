-- +goose Up
-- How many calls of a day are taken to have been made.
CREATE TABLE rate_day (
    upstream TEXT    NOT NULL,
    day      TEXT    NOT NULL,
    calls    INTEGER NOT NULL,
    low      INTEGER NOT NULL,
    PRIMARY KEY (upstream, day)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE rate_day;
