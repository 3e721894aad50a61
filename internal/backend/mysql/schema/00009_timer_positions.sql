-- +goose Up
-- Completions in the order in which they were first seen, whatever clocks said:
-- who follows them goes by their positions. They are given when somebody looks
-- (0 before), since transactions do not commit in the order in which they could
-- have taken numbers.
CREATE TABLE IF NOT EXISTS timer_completion (
    timer    VARBINARY(255) NOT NULL PRIMARY KEY,
    position BIGINT         NOT NULL DEFAULT 0,
    KEY timer_completion_position (position)
) ENGINE = InnoDB;
INSERT IGNORE INTO timer_completion (timer) SELECT id FROM timer WHERE status IN (2, 3, 4);
INSERT IGNORE INTO id_sequence (name, last_id) VALUES ('timer position', 0);

-- Timers whose completion is to be written to a log elsewhere.
CREATE TABLE IF NOT EXISTS timer_unlogged (
    timer VARBINARY(255) NOT NULL PRIMARY KEY
) ENGINE = InnoDB;

-- +goose Down
DROP TABLE timer_completion;
DROP TABLE timer_unlogged;
