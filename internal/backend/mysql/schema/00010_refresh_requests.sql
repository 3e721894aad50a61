-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- What was accepted and is not done, one row for each entity, and what waits for
-- an instant.
CREATE TABLE IF NOT EXISTS refresh_request (
    -- Stands for (source, key) of the event.
    identity   BINARY(16)   NOT NULL PRIMARY KEY,
    version    BIGINT       NOT NULL,
    priority   TINYINT      NOT NULL,
    -- How often the upstream has put it off.
    waits      INT          NOT NULL,
    -- When it comes back; NULL if it is in the log.
    not_before BIGINT       NULL,
    code       VARCHAR(255) NOT NULL,
    error      TEXT         NOT NULL,
    event      BLOB         NOT NULL,
    KEY refresh_request_due (not_before)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Which life of the log what was accepted has been published in.
CREATE TABLE IF NOT EXISTS refresh_log (
    topic VARCHAR(64)  NOT NULL PRIMARY KEY,
    epoch VARCHAR(255) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- No version above the mark of its one row was given out.
CREATE TABLE IF NOT EXISTS refresh_version (
    id   TINYINT NOT NULL PRIMARY KEY,
    mark BIGINT  NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO refresh_version (id, mark) SELECT 1, COALESCE(MAX(seen_version), 0) FROM snapshot
    ON DUPLICATE KEY UPDATE mark = GREATEST(mark, VALUES(mark));

-- Up to when the prefetch of a source has asked for as much as it may.
CREATE TABLE IF NOT EXISTS refresh_pace (
    source  VARBINARY(255) NOT NULL PRIMARY KEY,
    next_at BIGINT         NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- MySQL has no ADD COLUMN IF NOT EXISTS.
SET @columns = (SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'snapshot_status' AND column_name = 'next_retry_at');
SET @add = IF(@columns > 0, 'DO 0', 'ALTER TABLE snapshot_status
    ADD COLUMN error_code VARCHAR(255) NOT NULL DEFAULT \'\', ADD COLUMN next_retry_at BIGINT NOT NULL DEFAULT 0');
PREPARE add_columns FROM @add;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;

-- +goose Down
ALTER TABLE snapshot_status DROP COLUMN next_retry_at, DROP COLUMN error_code;
DROP TABLE refresh_pace;
DROP TABLE refresh_version;
DROP TABLE refresh_log;
DROP TABLE refresh_request;
