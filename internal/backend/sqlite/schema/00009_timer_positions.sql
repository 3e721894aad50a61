-- +goose Up
-- Completions in the order in which they were committed, whatever clocks said:
-- who follows them goes by their positions, which are never used again.
CREATE TABLE timer_completion (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    seq      INTEGER NOT NULL
);
CREATE INDEX timer_completion_seq ON timer_completion (seq);
INSERT INTO timer_completion (seq) SELECT seq FROM timer WHERE status IN (2, 3, 4) ORDER BY ended_at, id;

-- Timers whose completion is to be written to a log elsewhere.
CREATE TABLE timer_unlogged (
    id TEXT NOT NULL PRIMARY KEY
) WITHOUT ROWID;

-- +goose Down
DROP TABLE timer_completion;
DROP TABLE timer_unlogged;
