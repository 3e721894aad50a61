-- +goose Up
-- How far what is stored has got the values of columns that were declared since, by
-- what was declared.
CREATE TABLE document_filling (
    signature VARCHAR(64) COLLATE "C" NOT NULL PRIMARY KEY,
    done      SMALLINT    NOT NULL,
    progress  BYTEA       NOT NULL
);

-- +goose Down
DROP TABLE document_filling;
