-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- The last known value of each entity, without its body: to note that it was
-- looked at again rewrites a small row. An entity that only has a status, or
-- values in the history, has a row of version 0: whoever writes about an entity
-- locks its row first.
CREATE TABLE IF NOT EXISTS snapshot (
    -- Stands for (source, entity_key).
    identity     BINARY(16)      NOT NULL PRIMARY KEY,
    source       VARBINARY(255)  NOT NULL DEFAULT '',
    entity_key   VARBINARY(1024) NOT NULL DEFAULT '',
    -- That of the last refresh, also if it found nothing new.
    seen_version BIGINT          NOT NULL DEFAULT 0,
    -- That of the refresh that brought the value.
    version      BIGINT          NOT NULL DEFAULT 0,
    hash         BINARY(32)      NOT NULL DEFAULT '',
    checked_at   BIGINT          NOT NULL DEFAULT 0,
    updated_at   BIGINT          NOT NULL DEFAULT 0,
    read_at      BIGINT          NOT NULL DEFAULT 0,
    tier         TINYINT         NOT NULL DEFAULT 1,
    -- NULL if there is no value to be refreshed.
    due_at       BIGINT          NULL,
    -- How much the compressed body takes.
    bytes        BIGINT          NOT NULL DEFAULT 0,
    -- Whether there is a status.
    troubled     TINYINT         NOT NULL DEFAULT 0,
    KEY snapshot_due (source, due_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The bodies: those of present values and those of the history. A value that
-- is both is stored once.
CREATE TABLE IF NOT EXISTS snapshot_value (
    seq        BIGINT          NOT NULL AUTO_INCREMENT PRIMARY KEY,
    identity   BINARY(16)      NOT NULL,
    source     VARBINARY(255)  NOT NULL,
    entity_key VARBINARY(1024) NOT NULL,
    version    BIGINT          NOT NULL,
    hash       BINARY(32)      NOT NULL,
    stored_at  BIGINT          NOT NULL,
    -- Whether it is part of the history; if not, it is a present value.
    listed     TINYINT         NOT NULL,
    body       LONGBLOB        NOT NULL,
    UNIQUE KEY snapshot_value_identity (identity, version, hash),
    KEY snapshot_value_listed (listed, stored_at, seq)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Its one row is held by all who store values, until they have committed.
-- Whoever begins to list values waits for them, and so knows that no value
-- comes later with a smaller number.
CREATE TABLE IF NOT EXISTS snapshot_gate (
    id TINYINT NOT NULL PRIMARY KEY
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO snapshot_gate (id) VALUES (1) ON DUPLICATE KEY UPDATE id = id;

-- Only what is wrong has a row.
CREATE TABLE IF NOT EXISTS snapshot_status (
    identity BINARY(16)     NOT NULL PRIMARY KEY,
    source   VARBINARY(255) NOT NULL,
    version  BIGINT         NOT NULL,
    code     VARCHAR(16)    NOT NULL,
    tries    BIGINT         NOT NULL,
    error    LONGTEXT       NOT NULL,
    at       BIGINT         NOT NULL,
    KEY snapshot_status_source (source, code)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The columns beside the data are what letters are looked for by; texts that
-- are too long for them are cut there.
CREATE TABLE IF NOT EXISTS dead_letter (
    id         VARBINARY(255) NOT NULL PRIMARY KEY,
    why        VARBINARY(255) NOT NULL,
    source     VARBINARY(255) NOT NULL,
    entity_key VARBINARY(255) NOT NULL,
    buried_at  BIGINT         NOT NULL,
    data       LONGBLOB       NOT NULL,
    KEY dead_letter_buried (buried_at, id),
    KEY dead_letter_why (why, buried_at, id),
    KEY dead_letter_entity (source, entity_key, buried_at, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE dead_letter;
DROP TABLE snapshot_status;
DROP TABLE snapshot_gate;
DROP TABLE snapshot_value;
DROP TABLE snapshot;
