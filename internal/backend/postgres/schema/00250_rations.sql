-- +goose Up
-- What may have been drawn on rations that are data: one row for each count and each gate.
CREATE TABLE ration_count (
    -- Stands for (group_name, count_name).
    identity    BYTEA        NOT NULL PRIMARY KEY CHECK (octet_length(identity) = 16),
    -- All that a call can draw on at once.
    group_name  TEXT         COLLATE "C" NOT NULL,
    count_name  VARCHAR(255) COLLATE "C" NOT NULL,
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
    seq         BIGINT       NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
-- Groups may be longer than a page of another kind of index takes.
CREATE INDEX ration_group ON ration_count USING hash (group_name);
INSERT INTO ration_count (identity, group_name, count_name, told_limit, told_refill, spent, late, ends_at, until_at, seq)
    SELECT identity, substr(owner, 8), bucket, call_limit, 0, points, in_flight, reset_at, touched, seq FROM quota_window WHERE owner LIKE 'ration %';
DELETE FROM quota_window WHERE owner LIKE 'ration %';

-- +goose Down
DROP TABLE ration_count;
