-- +goose Up
-- When the delivery of a timer was given up. Those that are delivered again stay
-- here until they are removed with their timer; its status tells.
CREATE TABLE timer_given_up (
    id TEXT    NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX timer_given_up_at ON timer_given_up (at, id);
INSERT INTO timer_given_up (id, at) SELECT id, ended_at FROM timer WHERE status = 4;

-- +goose Down
DROP TABLE timer_given_up;
