-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- What may have been drawn on rations that are data: one row for each count and each gate.
CREATE TABLE IF NOT EXISTS ration_count (
    -- Stands for (group_name, count_name).
    identity    BINARY(16)   NOT NULL PRIMARY KEY,
    -- All that a call can draw on at once.
    group_name  LONGTEXT     NOT NULL,
    count_name  VARCHAR(255) NOT NULL,
    -- What the upstream told to be granted, and to come back in every period; 0 if it did not.
    told_limit  BIGINT       NOT NULL,
    told_refill BIGINT       NOT NULL,
    spent       BIGINT       NOT NULL,
    -- What of it may be counted after the window ends.
    late        BIGINT       NOT NULL,
    -- 0 if it is not known.
    ends_at     BIGINT       NOT NULL,
    -- When all of it has come back, and when a gate opens.
    until_at    BIGINT       NOT NULL,
    -- Orders what is stored: the highest is the newest, in whatever order they come.
    seq         BIGINT       NOT NULL,
    KEY ration_group (group_name(64))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO ration_count (identity, group_name, count_name, told_limit, told_refill, spent, late, ends_at, until_at, seq)
    SELECT identity, SUBSTRING(owner, 8), bucket, call_limit, 0, points, in_flight, reset_at, touched, seq FROM quota_window WHERE owner LIKE 'ration %';
DELETE FROM quota_window WHERE owner LIKE 'ration %';

-- +goose Down
DROP TABLE ration_count;
