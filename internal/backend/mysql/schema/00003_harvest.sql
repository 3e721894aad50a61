-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- How an account is collected again, in the words of who plans that.
CREATE TABLE IF NOT EXISTS harvest_schedule (
    account_id BIGINT   NOT NULL PRIMARY KEY,
    data       LONGBLOB NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- When an account is collected next.
CREATE TABLE IF NOT EXISTS harvest (
    account_id BIGINT   NOT NULL PRIMARY KEY,
    -- The run that it follows; what follows an older one does not replace it.
    after_run  BIGINT   NOT NULL,
    at         BIGINT   NOT NULL,
    priority   TINYINT  NOT NULL,
    resume_run BIGINT   NOT NULL,
    tries      BIGINT   NOT NULL,
    reason     LONGTEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE harvest;
DROP TABLE harvest_schedule;
