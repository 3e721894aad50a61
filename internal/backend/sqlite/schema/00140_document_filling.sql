-- +goose Up
-- How far what is stored has got the values of columns that were declared since, by
-- what was declared.
CREATE TABLE document_filling (
    signature  TEXT    NOT NULL PRIMARY KEY,
    -- The last document that was seen to.
    account_id INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    seen       INTEGER NOT NULL,
    filled     INTEGER NOT NULL,
    done       INTEGER NOT NULL
);

-- +goose Down
DROP TABLE document_filling;
