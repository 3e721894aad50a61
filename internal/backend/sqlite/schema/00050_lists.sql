-- +goose Up
-- When the attempt that a job is at, or was ended by, was begun.
ALTER TABLE job ADD COLUMN started_at INTEGER NOT NULL DEFAULT 0;

-- What lists walk along: jobs of a run, of an account, those that failed and those
-- that have not ended, each in id order. A claim moves no entry of them.
CREATE INDEX job_run ON job (run_id, id);
CREATE INDEX job_account ON job (account_id, id);
CREATE INDEX job_failed ON job (id) WHERE done = 1 AND status = 6;
CREATE INDEX job_open ON job (id) WHERE done = 0;
CREATE INDEX run_status ON run (status, id);
CREATE INDEX account_owner ON account (owner);
CREATE INDEX account_credential ON account (credential_name);
CREATE INDEX dead_letter_key ON dead_letter (key, buried_at, id);

-- The highest ids of what was removed with its account: they are never used again.
CREATE TABLE id_mark (
    name TEXT    NOT NULL PRIMARY KEY,
    last INTEGER NOT NULL
) WITHOUT ROWID;

-- +goose Down
DROP TABLE id_mark;
DROP INDEX dead_letter_key;
DROP INDEX account_credential;
DROP INDEX account_owner;
DROP INDEX run_status;
DROP INDEX job_open;
DROP INDEX job_failed;
DROP INDEX job_account;
DROP INDEX job_run;
ALTER TABLE job DROP COLUMN started_at;
