-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- How far what is stored has got the values of columns that were declared since, by
-- what was declared.
CREATE TABLE IF NOT EXISTS document_filling (
    signature VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    done      TINYINT     NOT NULL,
    progress  LONGBLOB    NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE document_filling;
