-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- What people are told, a row for each message to each target.
CREATE TABLE IF NOT EXISTS notification (
    -- Grows with time.
    id         VARCHAR(64) NOT NULL PRIMARY KEY,
    target     VARCHAR(64) NOT NULL,
    kind       VARCHAR(64) NOT NULL,
    state      TINYINT     NOT NULL,
    -- When something is to be done with it; 0 when nothing is.
    due_at     BIGINT      NOT NULL,
    attempt    BIGINT      NOT NULL,
    tries      BIGINT      NOT NULL,
    error      TEXT        NOT NULL,
    created_at BIGINT      NOT NULL,
    -- When it was sent or given up; 0 before.
    ended_at   BIGINT      NOT NULL,
    data       MEDIUMBLOB  NOT NULL,
    KEY notification_due (due_at),
    KEY notification_state (state, id),
    KEY notification_target (target, id),
    KEY notification_ended (ended_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What is part of a message already.
CREATE TABLE IF NOT EXISTS notification_event (
    -- Stands for the key of the event.
    identity BINARY(16) NOT NULL PRIMARY KEY,
    seen_at  BIGINT     NOT NULL,
    KEY notification_event_seen (seen_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- When a target may be sent the next message of a kind.
CREATE TABLE IF NOT EXISTS notification_pace (
    target  VARCHAR(64) NOT NULL,
    kind    VARCHAR(64) NOT NULL,
    next_at BIGINT      NOT NULL,
    PRIMARY KEY (target, kind)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Up to when what happened was recorded, in its one row.
CREATE TABLE IF NOT EXISTS notification_mark (
    id TINYINT NOT NULL PRIMARY KEY,
    at BIGINT  NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO notification_mark (id, at) VALUES (1, 0);

-- What is looked for since an instant. MySQL has no CREATE INDEX IF NOT EXISTS.
SET @indexes = (SELECT COUNT(*) FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = 'run' AND index_name = 'notification_run');
SET @add = IF(@indexes > 0, 'DO 0', 'CREATE INDEX notification_run ON run (finished_at, id)');
PREPARE add_index FROM @add;
EXECUTE add_index;
DEALLOCATE PREPARE add_index;
SET @indexes = (SELECT COUNT(*) FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = 'account' AND index_name = 'notification_account');
SET @add = IF(@indexes > 0, 'DO 0', 'CREATE INDEX notification_account ON account (state, updated_at, id)');
PREPARE add_index FROM @add;
EXECUTE add_index;
DEALLOCATE PREPARE add_index;

-- +goose Down
DROP INDEX notification_account ON account;
DROP INDEX notification_run ON run;
DROP TABLE notification_mark;
DROP TABLE notification_pace;
DROP TABLE notification_event;
DROP TABLE notification;
