package relational

import (
	"context"
	"sync/atomic"
	"time"

	"sluice/internal/batch"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// DocumentWriter stores documents inside a transaction of this store, so that
// a page and its job's outcome are committed together or not at all. Pack does
// what needs no transaction, on the caller's time; Write does the rest
// inside one, for several outcomes at once, and claims absences.
type DocumentWriter interface {
	Pack(ctx context.Context, docs []document.Document) (*PackedDocuments, error)
	Write(ctx context.Context, tx *Tx, packed []*PackedDocuments, absences []document.Absence) error
	// Compact removes payloads that newer copies have replaced, if there can
	// be enough of them after so many documents came in.
	Compact(ctx context.Context, tx *Tx, account, received int64) error
}

// State implements state.Store. What makes it fast is that the claims and
// outcomes of a process' workers share transactions of few, set-based statements.
// A group of plain ones takes one trip to the server, which changes the jobs if
// they are as expected and commits. Any other group locks its jobs and looks at
// them; it commits with its last statement.
//
// Whoever needs locks takes them in this order, so that two rarely wait for
// each other: jobs by ascending id, documents and what else has an identity,
// runs, accounts, quota windows. Jobs are looked for without locks, then locked
// by their id: an index and its row would otherwise be locked in the opposite
// order of a statement that changes both. A transaction that still meets
// another the wrong way round is repeated.
type State struct {
	accountStore
	recordStore
	ledgerStore
	listStore
	state.Lookups
	state.Changes
	db   *DB
	docs DocumentWriter
	now  func() time.Time

	calls *batch.Group[call]
	// around are the calls of runs that somebody else has locked: they wait for
	// each other, and nobody else waits for them.
	around *batch.Group[call]
	locked lockedRuns
	jobIDs *Sequence
	memory jobMemory
	// quick counts the groups that needed not look at their jobs first.
	quick atomic.Uint64
}

var _ state.Store = (*State)(nil)

// accountStore implements what state.Lookups and Changes leave of state.Accounts.
type accountStore struct {
	db  *DB
	now func() time.Time
}

// recordStore implements state.Collection, Quotas and Statistics, and what Lookups
// and Changes leave of Harvests.
type recordStore struct{ db *DB }

// ledgerStore implements state.Ledgers.
type ledgerStore struct{ db *DB }

const (
	// maxCalls bounds how many claims and outcomes share a transaction.
	maxCalls = 200
	// idBlock is how many job ids a process takes at a time.
	idBlock = 4096
	// maxIDs bounds how many ids a statement lists.
	maxIDs = 1000
)

// NewState returns a store on an open database, which it closes. A nil docs means
// that documents live elsewhere, a nil now that it is now.
func NewState(db *DB, docs DocumentWriter, now func() time.Time) *State {
	s := &State{db: db, docs: docs, now: now, jobIDs: NewSequence(db, "job", idBlock)}
	if s.now == nil {
		s.now = time.Now
	}
	s.accountStore, s.recordStore, s.ledgerStore = accountStore{db, s.now}, recordStore{db}, ledgerStore{db}
	s.listStore = listStore{db}
	s.Lookups = state.NewLookups(db.Read, func(q Querier) state.ReadRows { return stateReader{q} })
	// None of these creates jobs: no ids are taken for them.
	s.Changes = state.NewChanges(db.Tx, func(tx *Tx) state.Rows { return s.rows(tx, 0) }, s.now)
	s.calls = batch.New(maxCalls, s.apply).Patient(groupPatience)
	s.around = batch.New(maxCalls, s.applyAround)
	return s
}

// Check proves that the store can be read and written: an UPDATE that changes
// nothing would write nothing.
func (s *State) Check(ctx context.Context) error {
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
func (s *State) Close() error { return s.db.Close() }
