-- Definitions end a transaction in MySQL, so that an interrupted migration is
-- half done: every statement can be repeated.
--
-- An identity of any length is compared by its SHA-256, shortened to 128 bits;
-- the text beside it is for reading. Comparing the text itself would ignore
-- spaces at its end, and an index takes 3072 bytes at most.
--
-- There are no foreign keys: each would lock a row of its parent, and neither
-- accounts nor runs are ever removed.

-- +goose Up
CREATE TABLE IF NOT EXISTS account (
    id              BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    -- Stands for (source, login in lower case).
    identity        BINARY(16)   NOT NULL,
    source          VARCHAR(255) NOT NULL,
    login           LONGTEXT     NOT NULL,
    state           VARCHAR(32)  NOT NULL,
    reason          LONGTEXT     NOT NULL,
    owner           LONGTEXT     NOT NULL,
    floor           BIGINT       NOT NULL DEFAULT 0,
    hours           VARCHAR(255) NOT NULL DEFAULT '',
    key_id          VARCHAR(255) NOT NULL,
    credential      LONGBLOB     NOT NULL,
    -- Stands for (source, credential): accounts with the same have one owner.
    credential_hash BINARY(16)   NOT NULL,
    created_at      BIGINT       NOT NULL,
    updated_at      BIGINT       NOT NULL,
    -- Grows with every change, so that a claim can tell a cached row is old.
    version         BIGINT       NOT NULL DEFAULT 1,
    UNIQUE KEY account_identity (identity),
    KEY account_credential (credential_hash)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS run (
    id             BIGINT      NOT NULL AUTO_INCREMENT PRIMARY KEY,
    account_id     BIGINT      NOT NULL,
    trigger_by     VARCHAR(32) NOT NULL,
    priority       TINYINT     NOT NULL,
    status         TINYINT     NOT NULL,
    anchor         BIGINT      NOT NULL,
    reason         LONGTEXT    NOT NULL,
    created_at     BIGINT      NOT NULL,
    finished_at    BIGINT      NOT NULL DEFAULT 0,
    known          BIGINT      NOT NULL DEFAULT 0,
    pending        BIGINT      NOT NULL DEFAULT 0,
    succeeded      BIGINT      NOT NULL DEFAULT 0,
    failed         BIGINT      NOT NULL DEFAULT 0,
    canceled       BIGINT      NOT NULL DEFAULT 0,
    calls          BIGINT      NOT NULL DEFAULT 0,
    documents      BIGINT      NOT NULL DEFAULT 0,
    -- One active run per account: CREATED, PLANNING, RUNNING, FINALIZING.
    active_account BIGINT GENERATED ALWAYS AS (IF(status <= 4, account_id, NULL)) STORED,
    UNIQUE KEY run_active (active_account),
    KEY run_account (account_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS job (
    id          BIGINT       NOT NULL PRIMARY KEY,
    run_id      BIGINT       NOT NULL,
    account_id  BIGINT       NOT NULL,
    parent_id   BIGINT       NOT NULL,
    type        VARCHAR(255) NOT NULL,
    resource    LONGTEXT     NOT NULL,
    page_key    LONGTEXT     NOT NULL DEFAULT (''),
    -- Stand for (type, resource) and for the page key.
    ledger_hash BINARY(16)   NOT NULL,
    page_hash   BINARY(16)   NOT NULL,
    bucket      VARCHAR(255) NOT NULL,
    class       TINYINT      NOT NULL,
    priority    TINYINT      NOT NULL,
    params      LONGBLOB     NOT NULL,
    expected    BIGINT       NOT NULL,
    status      TINYINT      NOT NULL,
    -- Kept apart from status so that a claim touches no index.
    done        TINYINT      NOT NULL DEFAULT 0,
    attempt     BIGINT       NOT NULL DEFAULT 0,
    failures    BIGINT       NOT NULL DEFAULT 0,
    lost        BIGINT       NOT NULL DEFAULT 0,
    not_before  BIGINT       NOT NULL DEFAULT 0,
    error_kind  VARCHAR(32)  NOT NULL DEFAULT '',
    error       LONGTEXT     NOT NULL DEFAULT (''),
    items       BIGINT       NOT NULL DEFAULT 0,
    pages       BIGINT       NOT NULL DEFAULT 0,
    created_at  BIGINT       NOT NULL,
    finished_at BIGINT       NOT NULL DEFAULT 0,
    UNIQUE KEY job_identity (run_id, ledger_hash, page_hash),
    -- InnoDB ends every index with the id: jobs of a run, and unfinished jobs,
    -- are found in id order.
    KEY job_run (run_id),
    KEY job_unfinished (done)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Job and chunk ids are taken from here in blocks, so that they are known
-- before the rows are inserted. The third row is only written, to see whether
-- that works.
CREATE TABLE IF NOT EXISTS id_sequence (
    name    VARCHAR(32) NOT NULL PRIMARY KEY,
    last_id BIGINT      NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO id_sequence (name, last_id) VALUES ('job', 0), ('chunk', 0), ('check', 0)
    ON DUPLICATE KEY UPDATE last_id = last_id;

CREATE TABLE IF NOT EXISTS resource_cursor (
    account_id BIGINT     NOT NULL,
    identity   BINARY(16) NOT NULL,
    resource   LONGTEXT   NOT NULL,
    at         BIGINT     NOT NULL,
    PRIMARY KEY (account_id, identity)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS page (
    account_id BIGINT     NOT NULL,
    identity   BINARY(16) NOT NULL,
    page_key   LONGTEXT   NOT NULL,
    etag       LONGTEXT   NOT NULL,
    next_page  LONGTEXT   NOT NULL,
    items      BIGINT     NOT NULL,
    PRIMARY KEY (account_id, identity)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS quota_window (
    -- Stands for (owner, bucket).
    identity     BINARY(16)      NOT NULL PRIMARY KEY,
    owner        LONGTEXT        NOT NULL,
    bucket       VARCHAR(255)    NOT NULL,
    call_limit   BIGINT          NOT NULL,
    remaining    BIGINT          NOT NULL,
    reset_at     BIGINT          NOT NULL,
    started      BIGINT          NOT NULL,
    parked_until BIGINT          NOT NULL,
    in_flight    BIGINT          NOT NULL,
    points       BIGINT          NOT NULL,
    touched      BIGINT          NOT NULL,
    -- Orders snapshots: the highest is the newest, in whatever order they come.
    seq          BIGINT UNSIGNED NOT NULL,
    KEY quota_owner (owner(64))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS statistics (
    account_id  BIGINT   NOT NULL PRIMARY KEY,
    run_id      BIGINT   NOT NULL,
    data        LONGBLOB NOT NULL,
    computed_at BIGINT   NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Payloads are compressed together, one chunk for the documents of one page:
-- neighbours resemble each other, and one page costs one compression.
CREATE TABLE IF NOT EXISTS chunk (
    id         BIGINT   NOT NULL PRIMARY KEY,
    account_id BIGINT   NOT NULL,
    data       LONGBLOB NOT NULL,
    KEY chunk_account (account_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Clustered by identity: storing a document touches one tree, and a scan of an
-- account's documents of a kind reads neighbours. A kind or a name that is too
-- long for the key is cut and ends with its SHA-256 there; the part that was
-- cut off is the rest.
CREATE TABLE IF NOT EXISTS document (
    account_id  BIGINT          NOT NULL,
    kind        VARBINARY(256)  NOT NULL,
    name        VARBINARY(1024) NOT NULL,
    kind_rest   LONGBLOB        NOT NULL,
    name_rest   LONGBLOB        NOT NULL,
    version     BIGINT          NOT NULL,
    repository  BIGINT          NOT NULL,
    number      BIGINT          NOT NULL,
    state       LONGTEXT        NOT NULL,
    title       LONGTEXT        NOT NULL,
    author      LONGTEXT        NOT NULL,
    language    LONGTEXT        NOT NULL,
    stars       BIGINT          NOT NULL,
    additions   BIGINT          NOT NULL,
    deletions   BIGINT          NOT NULL,
    created_at  BIGINT          NOT NULL,
    updated_at  BIGINT          NOT NULL,
    closed_at   BIGINT          NOT NULL,
    merged_at   BIGINT          NOT NULL,
    closed_by   LONGTEXT        NOT NULL,
    flags       BIGINT          NOT NULL,
    chunk       BIGINT          NOT NULL,
    chunk_start BIGINT          NOT NULL,
    chunk_size  BIGINT          NOT NULL,
    PRIMARY KEY (account_id, kind, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE document;
DROP TABLE chunk;
DROP TABLE statistics;
DROP TABLE quota_window;
DROP TABLE page;
DROP TABLE resource_cursor;
DROP TABLE id_sequence;
DROP TABLE job;
DROP TABLE run;
DROP TABLE account;
