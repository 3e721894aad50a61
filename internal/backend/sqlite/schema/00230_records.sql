-- +goose Up
-- Small named values that processes share: sessions of the dashboard, saved queries.
CREATE TABLE named_record (
    kind       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    value      BLOB    NOT NULL,
    changed_at INTEGER NOT NULL,
    -- 0 means never.
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE INDEX named_record_expires ON named_record (kind, expires_at);

-- +goose Down
DROP TABLE named_record;
