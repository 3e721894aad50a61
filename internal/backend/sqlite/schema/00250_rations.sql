-- +goose Up
-- What may have been drawn on rations that are data: one row for each count and each gate.
CREATE TABLE ration_count (
    -- All that a call can draw on at once.
    group_name  TEXT    NOT NULL,
    count_name  TEXT    NOT NULL,
    -- What the upstream told to be granted, and to come back in every period; 0 if it did not.
    told_limit  INTEGER NOT NULL,
    told_refill INTEGER NOT NULL,
    spent       INTEGER NOT NULL,
    -- What of it may be counted after the window ends.
    late        INTEGER NOT NULL,
    -- 0 if it is not known.
    ends_at     INTEGER NOT NULL,
    -- When all of it has come back, and when a gate opens.
    until_at    INTEGER NOT NULL,
    -- Orders what is stored: the highest is the newest, in whatever order they come.
    seq         INTEGER NOT NULL,
    PRIMARY KEY (group_name, count_name)
) WITHOUT ROWID;
INSERT INTO ration_count (group_name, count_name, told_limit, told_refill, spent, late, ends_at, until_at, seq)
    SELECT substr(owner, 8), bucket, call_limit, 0, points, in_flight, reset, touched, seq FROM quota_window WHERE owner >= 'ration ' AND owner < 'ration!';
DELETE FROM quota_window WHERE owner >= 'ration ' AND owner < 'ration!';

-- +goose Down
DROP TABLE ration_count;
