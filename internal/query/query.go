// Package query is the port to SQL that people write: one statement that reads the
// documented views of a store, and nothing else. What may be read is decided by the
// store's own engine, whose parser and whose rights cannot be talked around; no part
// of it goes by the look of a text.
//
//   - query.go: the port, and the limits that hold for every store.
//   - functions.go: the functions that the embedded store lets people call.
package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/internal/domain"
)

// The limits of an answer.
const (
	// DefaultLimit is how many rows are answered if nobody says.
	DefaultLimit = 1000
	// MaxLimit is how many there can be.
	MaxLimit = 100_000
	// MaxBytes bounds the values of an answer together.
	MaxBytes = 32 << 20
	// MaxValue bounds each of them.
	MaxValue = 8 << 20
	// MaxText is how long a statement may be.
	MaxText = 64 << 10
	// Patience is how long a statement may take.
	Patience = 25 * time.Second
	// Together is how many a process answers at once; others wait for their turn.
	Together = 2
)

// Query is a statement.
type Query struct {
	SQL string
	// Limit is how many rows are answered; 0 means DefaultLimit.
	Limit int
}

// Check refuses what no store is asked, and sets the limit if there is none.
func (q *Query) Check() error {
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	switch {
	case strings.TrimSpace(q.SQL) == "":
		return domain.Errorf(domain.CodeInvalid, "there is no statement: give one, such as SELECT account, count(*) FROM commits GROUP BY account")
	case len(q.SQL) > MaxText:
		return domain.Errorf(domain.CodeInvalid, "the statement has %d bytes; %d at most", len(q.SQL), MaxText)
	case !utf8.ValidString(q.SQL) || strings.IndexByte(q.SQL, 0) >= 0:
		return domain.Errorf(domain.CodeInvalid, "the statement is not a text of UTF-8")
	case q.Limit < 1 || q.Limit > MaxLimit:
		return domain.Errorf(domain.CodeInvalid, "the limit is %d rows; it is from 1 to %d, and `sluice export` has no limit", q.Limit, MaxLimit)
	}
	return nil
}

// Answer is what a statement has found.
type Answer struct {
	Columns []string
	// Rows have a value of JSON for each column.
	Rows [][]json.RawMessage
	// More says that there are more rows, which were not read.
	More bool
	size int
}

// Add adds a row. It reports false if there is no room for it: then nothing is to
// be read any more.
func (a *Answer) Add(limit int, row []json.RawMessage) bool {
	size := 0
	for _, v := range row {
		size += len(v)
	}
	if len(a.Rows) >= limit || a.size+size > MaxBytes {
		a.More = true
		return false
	}
	a.size += size
	a.Rows = append(a.Rows, row)
	return true
}

// Table is a view that can be read.
type Table struct {
	Name    string
	Columns []string
}

// Store answers statements. Errors of code invalid are the fault of the statement
// and say where in it.
type Store interface {
	Query(ctx context.Context, q Query) (Answer, error)
}

// Limited is a store that answers few at once and for a limited time, whatever is
// asked.
type Limited struct {
	store    Store
	patience time.Duration
	turns    chan struct{}
}

// NewLimited limits a store; patience 0 means Patience.
func NewLimited(store Store, patience time.Duration) *Limited {
	if patience <= 0 {
		patience = Patience
	}
	return &Limited{store, patience, make(chan struct{}, Together)}
}

// Query implements Store.
func (l *Limited) Query(ctx context.Context, q Query) (Answer, error) {
	if err := q.Check(); err != nil {
		return Answer{}, err
	}
	limited, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	select {
	case l.turns <- struct{}{}:
		defer func() { <-l.turns }()
	case <-limited.Done():
		return Answer{}, l.late(ctx, "other statements take all the time there is: try again")
	}
	answer, err := l.store.Query(limited, q)
	if err != nil && limited.Err() != nil {
		return Answer{}, l.late(ctx, "narrow it down by account, repository or time, or `sluice export` the table and ask that")
	}
	return answer, err
}

func (l *Limited) late(ctx context.Context, remedy string) error {
	if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return domain.Errorf(domain.CodeUnavailable, "the statement had no answer after %s: %s", l.patience, remedy)
}

// At says what is wrong with a statement, and where: offset is in bytes, negative
// if nobody knows.
func At(sql string, offset int, format string, args ...any) error {
	if offset < 0 || offset > len(sql) {
		return domain.Errorf(domain.CodeInvalid, format, args...)
	}
	before := sql[:offset]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return domain.Errorf(domain.CodeInvalid, "line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))
}

// TableNames lists tables for a message.
func TableNames(tables []Table) string {
	names := make([]string, len(tables))
	for i := range tables {
		names[i] = tables[i].Name
	}
	return strings.Join(names, ", ")
}

// ColumnNames lists the columns of the tables that a statement may mean, for a
// message: those whose names it has.
func ColumnNames(tables []Table, sql string) string {
	var parts []string
	lower := strings.ToLower(sql)
	for i := range tables {
		if strings.Contains(lower, tables[i].Name) {
			parts = append(parts, tables[i].Name+" has "+strings.Join(tables[i].Columns, ", "))
		}
	}
	return strings.Join(parts, "; ")
}
