-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- Small named values that processes share: sessions of the dashboard, saved queries.
CREATE TABLE IF NOT EXISTS named_record (
    kind       VARCHAR(32)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    name       VARBINARY(100) NOT NULL,
    value      BLOB           NOT NULL,
    changed_at BIGINT         NOT NULL,
    -- 0 means never.
    expires_at BIGINT         NOT NULL,
    PRIMARY KEY (kind, name),
    KEY named_record_expires (kind, expires_at)
) ENGINE = InnoDB;

-- +goose Down
DROP TABLE named_record;
