-- +goose Up
-- What people ask the database, in words instead of numbers; instants are in UTC,
-- and NULL stands for what has not happened.
CREATE OR REPLACE VIEW v_run AS
SELECT r.id, r.account_id, a.source, a.login, r.trigger_by AS triggered_by,
    CASE r.priority WHEN 1 THEN 'LOW' WHEN 2 THEN 'HIGH' END AS priority,
    CASE r.status WHEN 1 THEN 'CREATED' WHEN 2 THEN 'PLANNING' WHEN 3 THEN 'RUNNING' WHEN 4 THEN 'FINALIZING' WHEN 5 THEN 'COMPLETED' WHEN 6 THEN 'FAILED' WHEN 7 THEN 'CANCELED' END AS status,
    CASE WHEN r.anchor > 0 THEN to_timestamp(r.anchor / 1000000.0) END AS collects_up_to,
    CASE WHEN r.created_at > 0 THEN to_timestamp(r.created_at / 1000000.0) END AS created_at,
    CASE WHEN r.created_at > 0 THEN to_timestamp(r.created_at / 1000000.0) END AS started_at,
    CASE WHEN r.finished_at > 0 THEN to_timestamp(r.finished_at / 1000000.0) END AS finished_at,
    r.known AS known_jobs, r.pending AS pending_jobs, r.succeeded AS succeeded_jobs, r.failed AS failed_jobs, r.canceled AS canceled_jobs,
    r.calls, r.documents, r.reason,
    CASE WHEN r.status > 4 THEN NULL
        WHEN a.state <> 'active' THEN 'its account, which is ' || a.state
        WHEN r.status = 4 THEN 'its statistics'
        WHEN r.status < 3 THEN 'its plan'
        ELSE 'its jobs' END AS waits_for
FROM run r JOIN account a ON a.id = r.account_id;

CREATE OR REPLACE VIEW v_job AS
SELECT j.id, j.run_id, j.account_id, a.source, a.login, j.type, j.resource, j.page_key, j.bucket,
    CASE j.priority WHEN 1 THEN 'LOW' WHEN 2 THEN 'HIGH' END AS priority,
    CASE j.status WHEN 1 THEN 'READY' WHEN 3 THEN 'RUNNING' WHEN 4 THEN 'PAUSED' WHEN 5 THEN 'SUCCEEDED' WHEN 6 THEN 'FAILED' WHEN 7 THEN 'CANCELED' END AS status,
    j.attempt AS attempts, j.failures, j.lost,
    CASE WHEN j.created_at > 0 THEN to_timestamp(j.created_at / 1000000.0) END AS created_at,
    CASE WHEN j.not_before > 0 THEN to_timestamp(j.not_before / 1000000.0) END AS not_before,
    CASE WHEN j.started_at > 0 THEN to_timestamp(j.started_at / 1000000.0) END AS started_at,
    CASE WHEN j.finished_at > 0 THEN to_timestamp(j.finished_at / 1000000.0) END AS finished_at,
    j.items, j.error_kind, j.error,
    CASE WHEN j.done = 1 THEN NULL
        WHEN j.status = 3 THEN 'the upstream'
        WHEN j.status = 4 THEN 'its account, which is ' || a.state
        WHEN j.not_before > (EXTRACT(EPOCH FROM now()) * 1000000) AND j.error_kind <> '' THEN 'another attempt after: ' || j.error_kind
        WHEN j.not_before > (EXTRACT(EPOCH FROM now()) * 1000000) THEN 'its time'
        WHEN EXISTS (SELECT 1 FROM quota_window q WHERE q.owner = a.owner AND q.bucket = j.bucket
            AND (q.parked_until > (EXTRACT(EPOCH FROM now()) * 1000000) OR q.remaining <= 0 AND q.reset_at > (EXTRACT(EPOCH FROM now()) * 1000000))) THEN 'the quota of its owner'
        ELSE 'a worker' END AS waits_for
FROM job j JOIN account a ON a.id = j.account_id;

CREATE OR REPLACE VIEW v_harvest AS
SELECT h.account_id, a.source, a.login, a.state AS account_state,
    CASE WHEN h.at > 0 THEN to_timestamp(h.at / 1000000.0) END AS next_at,
    CASE h.priority WHEN 1 THEN 'LOW' WHEN 2 THEN 'HIGH' END AS priority,
    NULLIF(h.after_run, 0) AS after_run, NULLIF(h.resume_run, 0) AS resumes_run, h.tries, h.reason,
    CASE WHEN a.state <> 'active' THEN 'its account, which is ' || a.state ELSE 'its time' END AS waits_for
FROM harvest h JOIN account a ON a.id = h.account_id;

CREATE OR REPLACE VIEW v_dead_letter AS
SELECT encode(d.id, 'escape') AS id, 'refresh' AS kind, encode(d.why, 'escape') AS why, encode(d.source, 'escape') AS source, encode(d.entity_key, 'escape') AS name,
    NULL AS account_id, NULL AS run_id, (convert_from(d.data, 'UTF8')::json ->> 'tries')::bigint AS tries,
    CASE WHEN d.buried_at > 0 THEN to_timestamp(d.buried_at / 1000000.0) END AS failed_at
FROM dead_letter d
UNION ALL
SELECT 'statistics-' || CAST(r.id AS TEXT), 'statistics', 'STATISTICS', a.source, a.login,
    r.account_id, r.id, NULL, CASE WHEN r.finished_at > 0 THEN to_timestamp(r.finished_at / 1000000.0) END
FROM run r JOIN account a ON a.id = r.account_id
WHERE r.status = 6 AND r.reason LIKE 'statistics could not be computed: %'
    AND NOT EXISTS (SELECT 1 FROM run n WHERE n.account_id = r.account_id AND n.id > r.id AND n.status = 5);

-- +goose Down
DROP VIEW v_dead_letter;
DROP VIEW v_harvest;
DROP VIEW v_job;
DROP VIEW v_run;
