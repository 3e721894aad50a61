-- +goose Up
-- Rates are drawn on rations: a count for each date, of which is known what was not urgent.
ALTER TABLE ration_count ADD COLUMN low INTEGER NOT NULL DEFAULT 0;
INSERT INTO ration_count (group_name, count_name, told_limit, told_refill, spent, late, ends_at, until_at, seq, low)
    SELECT 'rate' || char(31) || upstream, 'day/' || day, 0, 0, calls, 0, 0, (CAST(strftime('%s', day) AS INTEGER) + 864000) * 1000000, 1, low
    FROM rate_day;
DROP TABLE rate_day;

-- +goose Down
CREATE TABLE rate_day (
    upstream TEXT    NOT NULL,
    day      TEXT    NOT NULL,
    calls    INTEGER NOT NULL,
    low      INTEGER NOT NULL,
    PRIMARY KEY (upstream, day)
) WITHOUT ROWID;
ALTER TABLE ration_count DROP COLUMN low;
