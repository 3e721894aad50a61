-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- Rates are drawn on rations: a count for each date, of which is known what was not urgent.
SET @add_low = IF((SELECT COUNT(*) FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'ration_count' AND column_name = 'low') > 0, 'DO 0',
    'ALTER TABLE ration_count ADD COLUMN low BIGINT NOT NULL DEFAULT 0');
PREPARE add_low FROM @add_low;
EXECUTE add_low;
DEALLOCATE PREPARE add_low;
-- It was dropped if this was interrupted at its end.
CREATE TABLE IF NOT EXISTS rate_day (
    upstream VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    day      CHAR(10)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    calls    BIGINT NOT NULL,
    low      BIGINT NOT NULL,
    PRIMARY KEY (upstream, day)
);
-- A row's identity is a hash of its names and their lengths.
INSERT IGNORE INTO ration_count (identity, group_name, count_name, told_limit, told_refill, spent, late, ends_at, until_at, seq, low)
    SELECT UNHEX(LEFT(SHA2(CONCAT(CHAR(LENGTH(upstream) + 12), 'ration rate', CHAR(31), upstream, CHAR(LENGTH(day) + 4), 'day/', day), 256), 32)),
        CONCAT('rate', CHAR(31 USING utf8mb4), upstream), CONCAT('day/', day), 0, 0, calls, 0, 0,
        (TIMESTAMPDIFF(SECOND, '1970-01-01', day) + 864000) * 1000000, 1, low
    FROM rate_day;
DROP TABLE rate_day;

-- +goose Down
CREATE TABLE IF NOT EXISTS rate_day (
    upstream VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    day      CHAR(10)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    calls    BIGINT NOT NULL,
    low      BIGINT NOT NULL,
    PRIMARY KEY (upstream, day)
);
ALTER TABLE ration_count DROP COLUMN low;
