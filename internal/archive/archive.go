// Package archive moves old values of snapshots out of the store into
// compressed columnar files, and back.
//
// Files lie in a folder or a bucket, by source and day:
//
//	history/source=S/day=2026-10-16/part-<first>-<last>-<rows>-<sums>.parquet
//
// and under cold/ instead of history/ once they are old, so that a bucket's own
// rule can give that prefix cheaper storage. A name says what a file holds: the
// instants of its first and last value in microseconds, how many there are, and
// checksums of all its bytes and of its end. So the same values have the same
// name, a listing needs no file opened, and a file that was damaged does not fit
// its name.
//
// There is no record of what was under way. A value leaves the store only after
// its file was read back and compared; and values that a file of their day
// holds already are compared with it instead of being written again. Whatever
// is interrupted is therefore simply done again. One archiver works at a time:
// two at once lose nothing, but may write a value into two files.
//
// Values that were restored are as old as they were, so the next archiving
// takes them out of the store again.
package archive

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// day is the length of one.
const day = 24 * time.Hour

// Options say when values move. Zero fields have the defaults that are named.
type Options struct {
	// After is the age at which values are archived; default 30 days.
	After time.Duration
	// Cold is the age at which files move to cold/; default 180 days.
	Cold time.Duration
	// Hour is the hour of the day, in UTC, at which Run works.
	Hour int
	// Retry is how long Run waits after a failure; default one hour.
	Retry time.Duration
	// ChunkBytes is how many bytes of bodies are archived in one step; default
	// 64 MiB. They are in memory meanwhile, and a file holds no more.
	ChunkBytes int
	// Page is how many values are asked for at once; default 250.
	Page int
	// Alone, if set, keeps other processes from writing until release is called,
	// or fails with code conflict if one of them does.
	Alone func(ctx context.Context) (release func(), err error)
	Slog  *slog.Logger
}

// Archiver archives the values of a history and restores them.
type Archiver struct {
	history refresh.History
	files   Files
	o       Options
	// busy is held by what writes, so that a person's command and Run take
	// turns.
	busy chan struct{}
}

// New returns an archiver on a folder or a bucket.
func New(history refresh.History, files Files, o Options) (*Archiver, error) {
	if o.Hour < 0 || o.Hour > 23 {
		return nil, domain.Errorf(domain.CodeInvalid, "there is no hour %d; write one from 0 to 23", o.Hour)
	}
	if o.After < 0 || o.Cold < 0 || o.Retry < 0 || o.ChunkBytes < 0 || o.Page < 0 {
		return nil, domain.Errorf(domain.CodeInvalid, "ages and sizes of the archive cannot be negative")
	}
	o.After = cmp.Or(o.After, 30*day)
	o.Cold = cmp.Or(o.Cold, 180*day)
	o.Retry = cmp.Or(o.Retry, time.Hour)
	o.ChunkBytes = cmp.Or(o.ChunkBytes, 64<<20)
	o.Page = cmp.Or(o.Page, 250)
	if o.Slog == nil {
		o.Slog = slog.New(slog.DiscardHandler)
	}
	return &Archiver{history: history, files: files, o: o, busy: make(chan struct{}, 1)}, nil
}

// take waits for its turn to write; the caller calls what it returns.
func (a *Archiver) take(ctx context.Context) (release func(), err error) {
	select {
	case a.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if a.o.Alone == nil {
		return func() { <-a.busy }, nil
	}
	others, err := a.o.Alone(ctx)
	if err != nil {
		<-a.busy
		return nil, err
	}
	return func() { others(); <-a.busy }, nil
}

// Result is what one archiving did.
type Result struct {
	// Values are those that left the store; Known of them were in files
	// already.
	Values int64 `json:"values"`
	Known  int64 `json:"known"`
	// Files and Bytes are what was written.
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

// Archive moves what was stored before an instant into files. After an error,
// what the result counts is archived; the rest is still in the store.
func (a *Archiver) Archive(ctx context.Context, before time.Time) (Result, error) {
	release, err := a.take(ctx)
	if err != nil {
		return Result{}, err
	}
	defer release()
	step := &archiving{Archiver: a, known: map[string][]File{}}
	for cursor := ""; ; {
		values, last, err := a.collect(ctx, before, cursor)
		if err != nil || len(values) == 0 {
			return step.done, err
		}
		if err := step.keep(ctx, values); err != nil {
			return step.done, err
		}
		if _, err := a.history.Forget(ctx, last); err != nil {
			return step.done, err
		}
		step.done.Values += int64(len(values))
		cursor = last
	}
}

// collect lists the values of one step.
func (a *Archiver) collect(ctx context.Context, before time.Time, after string) (values []refresh.Value, last string, err error) {
	last = after
	for size := 0; size < a.o.ChunkBytes; {
		page, next, err := a.history.Values(ctx, before, last, a.o.Page)
		if err != nil {
			return nil, "", err
		}
		if len(page) == 0 {
			break
		}
		for i := range page {
			size += len(page[i].Body)
		}
		values, last = append(values, page...), next
	}
	return values, last, nil
}
