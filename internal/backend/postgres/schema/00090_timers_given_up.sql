-- +goose Up
-- When the delivery of a timer was given up. Those that are delivered again stay
-- here until they are removed with their timer; its status tells.
CREATE TABLE timer_given_up (
    timer BYTEA  NOT NULL PRIMARY KEY CHECK (octet_length(timer) <= 255),
    at    BIGINT NOT NULL
);
CREATE INDEX timer_given_up_at ON timer_given_up (at, timer);
INSERT INTO timer_given_up (timer, at) SELECT id, ended_at FROM timer WHERE status = 4;

-- +goose Down
DROP TABLE timer_given_up;
