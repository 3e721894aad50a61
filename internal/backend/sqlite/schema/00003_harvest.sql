-- +goose Up
-- How an account is collected again, in the words of who plans that.
CREATE TABLE harvest_schedule (
    account_id INTEGER PRIMARY KEY,
    data       BLOB    NOT NULL
);

-- When an account is collected next.
CREATE TABLE harvest (
    account_id INTEGER PRIMARY KEY,
    -- The run that it follows; what follows an older one does not replace it.
    after_run  INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    priority   INTEGER NOT NULL,
    resume_run INTEGER NOT NULL,
    tries      INTEGER NOT NULL,
    reason     TEXT    NOT NULL
);

-- +goose Down
DROP TABLE harvest;
DROP TABLE harvest_schedule;
