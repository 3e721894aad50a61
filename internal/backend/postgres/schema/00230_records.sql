-- +goose Up
-- Small named values that processes share: sessions of the dashboard, saved queries.
CREATE TABLE named_record (
    kind       VARCHAR(32)  COLLATE "C" NOT NULL,
    name       VARCHAR(100) COLLATE "C" NOT NULL,
    value      BYTEA        NOT NULL,
    changed_at BIGINT       NOT NULL,
    -- 0 means never.
    expires_at BIGINT       NOT NULL,
    PRIMARY KEY (kind, name)
);
CREATE INDEX named_record_expires ON named_record (kind, expires_at);

-- +goose Down
DROP TABLE named_record;
