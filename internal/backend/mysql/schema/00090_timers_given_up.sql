-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- When the delivery of a timer was given up. Those that are delivered again stay
-- here until they are removed with their timer; its status tells.
CREATE TABLE IF NOT EXISTS timer_given_up (
    timer VARBINARY(255) NOT NULL PRIMARY KEY,
    at    BIGINT         NOT NULL,
    KEY timer_given_up_at (at, timer)
) ENGINE = InnoDB;
INSERT IGNORE INTO timer_given_up (timer, at) SELECT id, ended_at FROM timer WHERE status = 4;

-- +goose Down
DROP TABLE timer_given_up;
