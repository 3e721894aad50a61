-- +goose Up
-- What an owner's calls wait for: quotas are counted as rations.
CREATE OR REPLACE VIEW v_job AS
SELECT j.id, j.run_id, j.account_id, a.source, a.login, j.type, j.resource, j.page_key, j.bucket,
    CASE j.priority WHEN 1 THEN 'LOW' WHEN 2 THEN 'HIGH' END AS priority,
    CASE j.status WHEN 1 THEN 'READY' WHEN 3 THEN 'RUNNING' WHEN 4 THEN 'PAUSED' WHEN 5 THEN 'SUCCEEDED' WHEN 6 THEN 'FAILED' WHEN 7 THEN 'CANCELED' END AS status,
    j.attempt AS attempts, j.failures, j.lost,
    CASE WHEN j.created_at > 0 THEN TIMESTAMPADD(MICROSECOND, j.created_at, '1970-01-01 00:00:00.000000') END AS created_at,
    CASE WHEN j.not_before > 0 THEN TIMESTAMPADD(MICROSECOND, j.not_before, '1970-01-01 00:00:00.000000') END AS not_before,
    CASE WHEN j.started_at > 0 THEN TIMESTAMPADD(MICROSECOND, j.started_at, '1970-01-01 00:00:00.000000') END AS started_at,
    CASE WHEN j.finished_at > 0 THEN TIMESTAMPADD(MICROSECOND, j.finished_at, '1970-01-01 00:00:00.000000') END AS finished_at,
    j.items, j.error_kind, j.error,
    CASE WHEN j.done = 1 THEN NULL
        WHEN j.status = 3 THEN 'the upstream'
        WHEN j.status = 4 THEN CONCAT('its account, which is ', a.state)
        WHEN j.not_before > (UNIX_TIMESTAMP() * 1000000) AND j.error_kind <> '' THEN CONCAT('another attempt after: ', j.error_kind)
        WHEN j.not_before > (UNIX_TIMESTAMP() * 1000000) THEN 'its time'
        WHEN EXISTS (SELECT 1 FROM ration_count q WHERE q.group_name = CONCAT('quota', CHAR(31 USING utf8mb4), a.owner)
            AND (q.count_name LIKE 'gate %' AND q.until_at > (UNIX_TIMESTAMP() * 1000000)
                OR q.count_name = j.bucket AND q.told_limit > 0 AND q.spent >= q.told_limit AND q.ends_at > (UNIX_TIMESTAMP() * 1000000))) THEN 'the quota of its owner'
        ELSE 'a worker' END AS waits_for
FROM job j JOIN account a ON a.id = j.account_id;

-- +goose Down
CREATE OR REPLACE VIEW v_job AS
SELECT j.id, j.run_id, j.account_id, a.source, a.login, j.type, j.resource, j.page_key, j.bucket,
    CASE j.priority WHEN 1 THEN 'LOW' WHEN 2 THEN 'HIGH' END AS priority,
    CASE j.status WHEN 1 THEN 'READY' WHEN 3 THEN 'RUNNING' WHEN 4 THEN 'PAUSED' WHEN 5 THEN 'SUCCEEDED' WHEN 6 THEN 'FAILED' WHEN 7 THEN 'CANCELED' END AS status,
    j.attempt AS attempts, j.failures, j.lost,
    CASE WHEN j.created_at > 0 THEN TIMESTAMPADD(MICROSECOND, j.created_at, '1970-01-01 00:00:00.000000') END AS created_at,
    CASE WHEN j.not_before > 0 THEN TIMESTAMPADD(MICROSECOND, j.not_before, '1970-01-01 00:00:00.000000') END AS not_before,
    CASE WHEN j.started_at > 0 THEN TIMESTAMPADD(MICROSECOND, j.started_at, '1970-01-01 00:00:00.000000') END AS started_at,
    CASE WHEN j.finished_at > 0 THEN TIMESTAMPADD(MICROSECOND, j.finished_at, '1970-01-01 00:00:00.000000') END AS finished_at,
    j.items, j.error_kind, j.error,
    CASE WHEN j.done = 1 THEN NULL
        WHEN j.status = 3 THEN 'the upstream'
        WHEN j.status = 4 THEN CONCAT('its account, which is ', a.state)
        WHEN j.not_before > (UNIX_TIMESTAMP() * 1000000) AND j.error_kind <> '' THEN CONCAT('another attempt after: ', j.error_kind)
        WHEN j.not_before > (UNIX_TIMESTAMP() * 1000000) THEN 'its time'
        WHEN EXISTS (SELECT 1 FROM quota_window q WHERE q.owner = a.owner AND q.bucket = j.bucket
            AND (q.parked_until > (UNIX_TIMESTAMP() * 1000000) OR q.remaining <= 0 AND q.reset_at > (UNIX_TIMESTAMP() * 1000000))) THEN 'the quota of its owner'
        ELSE 'a worker' END AS waits_for
FROM job j JOIN account a ON a.id = j.account_id;
