-- +goose Up
-- Rates are drawn on rations: a count for each date, of which is known what was not urgent.
ALTER TABLE ration_count ADD COLUMN low BIGINT NOT NULL DEFAULT 0;
-- A row's identity is a hash of its names and their lengths.
INSERT INTO ration_count (identity, group_name, count_name, told_limit, told_refill, spent, late, ends_at, until_at, seq, low)
    SELECT substr(sha256(decode(lpad(to_hex(octet_length('ration rate_' || upstream)), 2, '0'), 'hex') || convert_to('ration rate' || chr(31) || upstream, 'UTF8')
            || decode(lpad(to_hex(octet_length('day/' || day)), 2, '0'), 'hex') || convert_to('day/' || day, 'UTF8')), 1, 16),
        'rate' || chr(31) || upstream, 'day/' || day, 0, 0, calls, 0, 0, ((day::date - DATE '1970-01-01')::bigint * 86400 + 864000) * 1000000, 1, low
    FROM rate_day;
DROP TABLE rate_day;

-- +goose Down
CREATE TABLE rate_day (
    upstream VARCHAR(100) COLLATE "C" NOT NULL,
    day      VARCHAR(10)  COLLATE "C" NOT NULL,
    calls    BIGINT       NOT NULL,
    low      BIGINT       NOT NULL,
    PRIMARY KEY (upstream, day)
) WITH (fillfactor = 50);
ALTER TABLE ration_count DROP COLUMN low;
