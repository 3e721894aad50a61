-- +goose Up
-- Which views of documents were made, and what stands for the text of each.
CREATE TABLE document_view (
    name       VARCHAR(255) COLLATE "C" NOT NULL PRIMARY KEY,
    definition VARCHAR(255) COLLATE "C" NOT NULL
);

-- +goose Down
DROP TABLE document_view;
