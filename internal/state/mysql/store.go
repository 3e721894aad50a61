// Package mysql keeps the state in MySQL or MariaDB, for several processes at
// once. What makes it fast is that the claims and outcomes of a process'
// workers share transactions of few, set-based statements. A group of plain
// ones takes two trips to the server: one that changes the jobs if they are as
// expected, and the commit. Any other group locks its jobs and looks at them.
//
// Whoever needs locks takes them in this order, so that two rarely wait for
// each other: jobs by ascending id, documents and what else has an identity,
// runs, accounts, quota windows. Jobs are looked for without locks, then locked
// by their id: an index and its row would otherwise be locked in the opposite
// order of a statement that changes both. A transaction that still meets
// another the wrong way round is repeated.
package mysql

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"sluice/internal/batch"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/state"
)

// DocumentWriter stores documents inside a transaction of this store, so that
// a page and its job's outcome are committed together or not at all. Pack does
// what needs no transaction, on the caller's time; the rows that it returns
// are inserted with those of other outcomes.
type DocumentWriter interface {
	Pack(ctx context.Context, docs []document.Document) ([]mysqldb.Rows, error)
	Flag(ctx context.Context, tx *sql.Tx, absences []document.Absence) error
	// Compact removes payloads that newer copies have replaced, if there can
	// be enough of them after so many documents came in.
	Compact(ctx context.Context, tx *sql.Tx, account, received int64) error
}

// Store implements state.Store.
type Store struct {
	db   *mysqldb.DB
	docs DocumentWriter
	now  func() time.Time

	calls  *batch.Group[call]
	jobIDs *mysqldb.Sequence
	memory memory
	// quick counts the groups that needed not look at their jobs first.
	quick atomic.Uint64
}

var _ state.Store = (*Store)(nil)

const (
	// maxGroup bounds how many claims and outcomes share a transaction.
	maxGroup = 200
	// groupPatience is short beside a transaction, and long enough for workers
	// that the last one set free to come back.
	groupPatience = 300 * time.Microsecond
	// idBlock is how many job ids a process takes at a time.
	idBlock = 4096
	// maxIDs bounds how many ids a statement lists.
	maxIDs = 1000
)

// Open prepares a store on an open database. Closing the store closes it. A
// nil docs means that documents live elsewhere.
func Open(_ context.Context, db *mysqldb.DB, docs DocumentWriter, now func() time.Time) (*Store, error) {
	s := &Store{db: db, docs: docs, now: now, jobIDs: mysqldb.NewSequence(db, "job", idBlock)}
	if s.now == nil {
		s.now = time.Now
	}
	s.calls = batch.New(maxGroup, s.apply).Patient(groupPatience)
	return s, nil
}

// Check proves that the store can be read and written: an UPDATE that changes
// nothing would write nothing.
func (s *Store) Check(ctx context.Context) error {
	result, err := s.db.Exec(ctx, "UPDATE id_sequence SET last_id = last_id + 1 WHERE name = 'check'")
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return domain.Errorf(domain.CodeCorrupt, "the table id_sequence has lost its row %q (%v)", "check", err)
	}
	return nil
}

// Close closes the store and its database.
func (s *Store) Close() error { return s.db.Close() }
