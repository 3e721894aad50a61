-- +goose Up
-- Which views of documents were made, and what stands for the text of each. Who
-- makes one has the row without a name.
CREATE TABLE document_view (
    name       VARCHAR(255) COLLATE "C" NOT NULL PRIMARY KEY,
    definition VARCHAR(255) COLLATE "C" NOT NULL
);
INSERT INTO document_view (name, definition) VALUES ('', 'a');

-- +goose Down
DROP TABLE document_view;
