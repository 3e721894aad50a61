-- +goose Up
-- When the attempt that a job is at, or was ended by, was begun. Whether it failed is
-- a column of its own, so that a change of the status alone touches no index.
ALTER TABLE job ADD COLUMN started_at BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN failed SMALLINT GENERATED ALWAYS AS (CASE WHEN done = 1 AND status = 6 THEN 1 END) STORED;

-- What lists walk along: jobs of an account, and those that failed, each in id order.
CREATE INDEX job_account ON job (account_id, id);
CREATE INDEX job_failed ON job (id) WHERE failed = 1;
CREATE INDEX run_status ON run (status, id);
CREATE INDEX dead_letter_key ON dead_letter (entity_key, buried_at, id);
-- Owners may be longer than a page of an index takes.
ALTER TABLE account ADD COLUMN owner_md5 CHAR(32) COLLATE "C" GENERATED ALWAYS AS (md5(owner)) STORED;
CREATE INDEX account_owner ON account (owner_md5);

-- +goose Down
DROP INDEX account_owner;
ALTER TABLE account DROP COLUMN owner_md5;
DROP INDEX dead_letter_key;
DROP INDEX run_status;
DROP INDEX job_failed;
DROP INDEX job_account;
ALTER TABLE job DROP COLUMN failed, DROP COLUMN started_at;
