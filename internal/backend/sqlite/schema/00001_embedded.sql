-- +goose Up
CREATE TABLE account (
    id         INTEGER PRIMARY KEY,
    source     TEXT    NOT NULL,
    login      TEXT    NOT NULL COLLATE NOCASE,
    state      TEXT    NOT NULL,
    reason     TEXT    NOT NULL DEFAULT '',
    owner      TEXT    NOT NULL,
    floor      INTEGER NOT NULL DEFAULT 0,
    hours      TEXT    NOT NULL DEFAULT '',
    key_id     TEXT    NOT NULL,
    credential BLOB    NOT NULL,
    -- Stands for the credential: accounts with the same one have one owner.
    credential_name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Grows with every change, so that a claim can tell a cached row is old.
    version    INTEGER NOT NULL DEFAULT 1,
    UNIQUE (source, login)
);

CREATE TABLE run (
    id          INTEGER PRIMARY KEY,
    account_id  INTEGER NOT NULL REFERENCES account (id),
    trigger_by  TEXT    NOT NULL,
    priority    INTEGER NOT NULL,
    status      INTEGER NOT NULL,
    anchor      INTEGER NOT NULL,
    reason      TEXT    NOT NULL DEFAULT '',
    created_at  INTEGER NOT NULL,
    finished_at INTEGER NOT NULL DEFAULT 0,
    known       INTEGER NOT NULL DEFAULT 0,
    pending     INTEGER NOT NULL DEFAULT 0,
    succeeded   INTEGER NOT NULL DEFAULT 0,
    failed      INTEGER NOT NULL DEFAULT 0,
    canceled    INTEGER NOT NULL DEFAULT 0,
    calls       INTEGER NOT NULL DEFAULT 0,
    documents   INTEGER NOT NULL DEFAULT 0
);
-- One active run per account: CREATED, PLANNING, RUNNING, FINALIZING.
CREATE UNIQUE INDEX run_active ON run (account_id) WHERE status <= 4;
CREATE INDEX run_account ON run (account_id, id);

CREATE TABLE job (
    id          INTEGER PRIMARY KEY,
    run_id      INTEGER NOT NULL,
    account_id  INTEGER NOT NULL,
    parent_id   INTEGER NOT NULL,
    type        TEXT    NOT NULL,
    resource    TEXT    NOT NULL,
    page_key    TEXT    NOT NULL DEFAULT '',
    bucket      TEXT    NOT NULL,
    class       INTEGER NOT NULL,
    priority    INTEGER NOT NULL,
    params      BLOB    NOT NULL,
    expected    INTEGER NOT NULL,
    status      INTEGER NOT NULL,
    -- Kept apart from status so that a claim touches no index.
    done        INTEGER NOT NULL DEFAULT 0,
    attempt     INTEGER NOT NULL DEFAULT 0,
    failures    INTEGER NOT NULL DEFAULT 0,
    lost        INTEGER NOT NULL DEFAULT 0,
    not_before  INTEGER NOT NULL DEFAULT 0,
    error_kind  TEXT    NOT NULL DEFAULT '',
    error       TEXT    NOT NULL DEFAULT '',
    items       INTEGER NOT NULL DEFAULT 0,
    pages       INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    finished_at INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX job_identity ON job (run_id, type, resource, page_key);
CREATE INDEX job_unfinished ON job (run_id) WHERE done = 0;

CREATE TABLE cursor (
    account_id INTEGER NOT NULL,
    resource   TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (account_id, resource)
) WITHOUT ROWID;

CREATE TABLE page (
    account_id INTEGER NOT NULL,
    key        TEXT    NOT NULL,
    etag       TEXT    NOT NULL,
    next       TEXT    NOT NULL,
    items      INTEGER NOT NULL,
    PRIMARY KEY (account_id, key)
) WITHOUT ROWID;

CREATE TABLE quota_window (
    owner        TEXT    NOT NULL,
    bucket       TEXT    NOT NULL,
    call_limit   INTEGER NOT NULL,
    remaining    INTEGER NOT NULL,
    reset        INTEGER NOT NULL,
    started      INTEGER NOT NULL,
    parked_until INTEGER NOT NULL,
    in_flight    INTEGER NOT NULL,
    points       INTEGER NOT NULL,
    touched      INTEGER NOT NULL,
    -- Orders snapshots: the highest is the newest, in whatever order they come.
    seq          INTEGER NOT NULL,
    PRIMARY KEY (owner, bucket)
) WITHOUT ROWID;

CREATE TABLE statistics (
    account_id  INTEGER PRIMARY KEY,
    run_id      INTEGER NOT NULL,
    data        BLOB    NOT NULL,
    computed_at INTEGER NOT NULL
);

-- Payloads are compressed together, one chunk for the documents of one page:
-- neighbours resemble each other, and one page costs one compression.
CREATE TABLE chunk (
    id         INTEGER PRIMARY KEY,
    account_id INTEGER NOT NULL,
    data       BLOB    NOT NULL
);
CREATE INDEX chunk_account ON chunk (account_id);

-- Clustered by identity: storing a document touches one tree, and a scan of an
-- account's documents of a kind reads neighbours.
CREATE TABLE document (
    account_id  INTEGER NOT NULL,
    kind        TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    repository  INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    title       TEXT    NOT NULL,
    author      TEXT    NOT NULL,
    language    TEXT    NOT NULL,
    stars       INTEGER NOT NULL,
    additions   INTEGER NOT NULL,
    deletions   INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    closed_at   INTEGER NOT NULL,
    merged_at   INTEGER NOT NULL,
    closed_by   TEXT    NOT NULL,
    flags       INTEGER NOT NULL,
    chunk       INTEGER NOT NULL,
    chunk_start INTEGER NOT NULL,
    chunk_size  INTEGER NOT NULL,
    PRIMARY KEY (account_id, kind, name)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE document;
DROP TABLE chunk;
DROP TABLE statistics;
DROP TABLE quota_window;
DROP TABLE page;
DROP TABLE cursor;
DROP TABLE job;
DROP TABLE run;
DROP TABLE account;
