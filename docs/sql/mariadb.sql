-- What a dashboard asks, by the views v_run, v_job, v_harvest and v_dead_letter.
-- A test asks every one of these, on every database.

-- runs of the last day by status
SELECT status, COUNT(*) AS runs FROM v_run WHERE created_at > UTC_TIMESTAMP() - INTERVAL 24 HOUR GROUP BY status ORDER BY status;

-- jobs of running runs by status
SELECT j.status, COUNT(*) AS jobs FROM v_job j JOIN v_run r ON r.id = j.run_id WHERE r.status = 'RUNNING' GROUP BY j.status ORDER BY j.status;

-- types of jobs by how often they fail
SELECT type, COUNT(CASE WHEN status = 'FAILED' THEN 1 END) AS failed, COUNT(*) AS total,
    COUNT(CASE WHEN status = 'FAILED' THEN 1 END) * 100.0 / COUNT(*) AS fail_rate
FROM v_job WHERE created_at > UTC_TIMESTAMP() - INTERVAL 1 HOUR GROUP BY type ORDER BY fail_rate DESC;

-- jobs that seem to be stuck
SELECT id, type, started_at, TIMESTAMPDIFF(MINUTE, started_at, UTC_TIMESTAMP()) AS running_minutes FROM v_job WHERE status = 'RUNNING' AND started_at < UTC_TIMESTAMP() - INTERVAL 10 MINUTE;

-- jobs that wait for their time
SELECT id, type, not_before, login, waits_for FROM v_job WHERE status = 'READY' AND not_before > UTC_TIMESTAMP() ORDER BY not_before;

-- how long jobs take that succeed
SELECT type, AVG(TIMESTAMPDIFF(MICROSECOND, started_at, finished_at) / 1000000) AS avg_seconds, MAX(TIMESTAMPDIFF(MICROSECOND, started_at, finished_at) / 1000000) AS max_seconds
FROM v_job WHERE status = 'SUCCEEDED' AND finished_at > UTC_TIMESTAMP() - INTERVAL 1 HOUR GROUP BY type;

-- how many attempts jobs take
SELECT attempts, COUNT(*) AS jobs FROM v_job WHERE finished_at > UTC_TIMESTAMP() - INTERVAL 1 HOUR GROUP BY attempts ORDER BY attempts;

-- what waits for what
SELECT waits_for, COUNT(*) AS jobs FROM v_job WHERE waits_for IS NOT NULL GROUP BY waits_for ORDER BY waits_for;

-- accounts that are collected next
SELECT login, next_at, priority, waits_for, reason FROM v_harvest ORDER BY next_at;

-- what failed for good
SELECT kind, why, COUNT(*) AS letters FROM v_dead_letter GROUP BY kind, why ORDER BY kind, why;
