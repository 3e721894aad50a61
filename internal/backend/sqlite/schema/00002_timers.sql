-- +goose Up
CREATE TABLE timer (
    -- Grows with every timer: whoever stores many sees by it which are new.
    seq      INTEGER PRIMARY KEY,
    id       TEXT    NOT NULL UNIQUE,
    at       INTEGER NOT NULL,
    set_at   INTEGER NOT NULL,
    status   INTEGER NOT NULL,
    webhook  TEXT    NOT NULL,
    -- When something is to be done with it; NULL when nothing is.
    next_at  INTEGER,
    -- When it fired, or was canceled; NULL before.
    ended_at INTEGER,
    server   TEXT    NOT NULL DEFAULT '',
    tries    INTEGER NOT NULL DEFAULT 0,
    error    TEXT    NOT NULL DEFAULT '',
    -- The last, so that the others are read without it.
    payload  BLOB    NOT NULL
);
-- Any comparison with a column that is not NULL lets these indexes be used.
CREATE INDEX timer_next ON timer (next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX timer_ended ON timer (ended_at, id) WHERE ended_at IS NOT NULL;

-- +goose Down
DROP TABLE timer;
