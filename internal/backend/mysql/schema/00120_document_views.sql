-- Every statement can be repeated, as an interrupted migration is half done.

-- +goose Up
-- Which views of documents were made, and what stands for the text of each.
CREATE TABLE IF NOT EXISTS document_view (
    name       VARCHAR(255) NOT NULL PRIMARY KEY,
    definition VARCHAR(255) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE document_view;
