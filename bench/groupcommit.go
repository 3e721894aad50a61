package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	driver "zombiezen.com/go/sqlite"

	"sluice/bench/report"
	"sluice/internal/backend/sqlite"
)

// groupCommit measures rows that many writers insert, each waiting until its
// row is on disk, beside what the disk can do: fdatasyncs of appended blocks.
func groupCommit(ctx context.Context, l *lab) error {
	span := time.Duration(l.size(3000, 300)) * time.Millisecond
	for _, writers := range []int{1, 50, 200} {
		var rows, commits, syncs []float64
		for range l.rounds() {
			raw, err := l.fdatasyncs(ctx, span)
			if err != nil {
				return err
			}
			written, committed, err := l.insertRows(ctx, writers, span)
			if err != nil {
				return err
			}
			rows, commits, syncs = append(rows, written), append(commits, committed), append(syncs, raw)
		}
		line := report.Line{
			Name: fmt.Sprintf("group_commit_%d", writers), Value: report.Median(rows), Unit: "rows/s",
			Detail: fmt.Sprintf("%d writers, each waits for its row; %.0f transactions/s", writers, report.Median(commits)),
		}.Against("fdatasync of an appended 4 KiB block", report.Median(syncs))
		if err := l.report.Add(line.WithRatio(report.Median(report.Ratios(rows, syncs)))); err != nil {
			return err
		}
	}
	return nil
}

// fdatasyncs is how many blocks per second can be appended and made durable.
func (l *lab) fdatasyncs(ctx context.Context, span time.Duration) (rate float64, err error) {
	dir, remove, err := l.folder("fdatasync")
	if err != nil {
		return 0, err
	}
	defer remove()
	f, err := os.Create(filepath.Join(dir, "blocks"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	block := make([]byte, 4096)
	began, n := time.Now(), 0
	for ; time.Since(began) < span; n++ {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return 0, fmt.Errorf("fdatasync: %w", err)
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

func (l *lab) insertRows(ctx context.Context, writers int, span time.Duration) (rows, commits float64, err error) {
	dir, remove, err := l.folder("rows")
	if err != nil {
		return 0, 0, err
	}
	defer remove()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Holder: "bench"})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.Write(ctx, func(c *driver.Conn) error {
		return sqlite.Exec(c, "CREATE TABLE bench (id INTEGER PRIMARY KEY, body TEXT NOT NULL)", nil)
	})
	if err != nil {
		return 0, 0, err
	}
	var written atomic.Int64
	before, began := db.Transactions(), time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for range writers {
		group.Go(func() error {
			for time.Since(began) < span {
				if err := db.Write(ctx, insertRow); err != nil {
					return err
				}
				written.Add(1)
			}
			return nil
		})
	}
	err = group.Wait()
	took := time.Since(began).Seconds()
	return float64(written.Load()) / took, float64(db.Transactions()-before) / took, err
}

func insertRow(c *driver.Conn) error {
	return sqlite.Exec(c, "INSERT INTO bench (body) VALUES (?)", nil, "one row of about a hundred bytes, as a job without much to say for itself has in the table of jobs")
}
