package postgres

import (
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/testkit"
)

// sent are the statements that a connection has sent, one text for each trip.
type sent struct {
	mu    sync.Mutex
	texts []string
}

// watch takes what a client sends: each of these messages is short, and comes in
// one piece.
func (s *sent) watch(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(b) > 6 && b[0] == 'Q' {
		s.texts = append(s.texts, string(b[5:len(b)-1]))
	}
}

func (s *sent) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := s.texts
	s.texts = nil
	return texts
}

// TestTrips: a transaction begins with its first statement, and ends with the
// one that is called its last.
func TestTrips(t *testing.T) {
	t.Parallel()
	line, url := testkit.Forward(t, testkit.Postgres(t))
	db := openWith(t, Options{URL: url, MaxConnections: 1})
	var seen sent
	line.Watch(seen.watch)
	update := func() *relational.Statement {
		return (&relational.Statement{}).Write("UPDATE id_sequence SET last_id = 1 WHERE name = ").Text("job")
	}
	for name, c := range map[string]struct {
		run  func(tx *relational.Tx) error
		want []string
	}{
		"nothing": {func(*relational.Tx) error { return nil }, nil},
		"one statement": {func(tx *relational.Tx) error {
			_, err := update().Exec(t.Context(), tx)
			return err
		}, []string{"BEGIN; UPDATE", "COMMIT"}},
		"a final statement": {func(tx *relational.Tx) error {
			_, err := update().Exec(relational.Final(t.Context()), tx)
			return err
		}, []string{"BEGIN; UPDATE id_sequence SET last_id = 1 WHERE name =  'job' ; COMMIT"}},
		"a final batch after a query": {func(tx *relational.Tx) error {
			if err := relational.Query(t.Context(), tx, func(*sql.Rows) error { return nil }, "SELECT 1"); err != nil {
				return err
			}
			_, err := relational.Batch(relational.Final(t.Context()), tx, update(), refuse((&relational.Statement{}).Int(0)), update())
			return err
		}, []string{"BEGIN; SELECT 1", "UPDATE"}},
		"a batch that is refused": {func(tx *relational.Tx) error {
			_, err := relational.Batch(relational.Final(t.Context()), tx, append(exactly(update(), 2), update())...)
			if !db.IsRefused(err) {
				t.Errorf("an UPDATE of one row that was to be of two: %v", err)
			}
			return errStop
		}, []string{"BEGIN; WITH changed", "ROLLBACK"}},
	} {
		seen.take()
		err := db.Tx(t.Context(), c.run)
		if err != nil && !errors.Is(err, errStop) {
			t.Errorf("%s: %v", name, err)
		}
		got := seen.take()
		if len(got) != len(c.want) {
			t.Errorf("%s: sent %q, want %d trips", name, got, len(c.want))
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], c.want[i]) {
				t.Errorf("%s: trip %d is %q, want %q", name, i, got[i], c.want[i])
			}
		}
	}
}

var errStop = errors.New("stop")

// TestSnapshotReadsOneState, whatever is committed meanwhile.
func TestSnapshotReadsOneState(t *testing.T) {
	t.Parallel()
	db := open(t, testkit.Postgres(t))
	err := db.Snapshot(t.Context(), func(tx *relational.Tx) error {
		for range 3 {
			var n int64
			if err := tx.QueryRowContext(t.Context(), "SELECT last_id FROM id_sequence WHERE name = 'job'").Scan(&n); err != nil || n != 0 {
				t.Errorf("%d, %v", n, err)
			}
			if _, err := db.Exec(t.Context(), "UPDATE id_sequence SET last_id = last_id + 1"); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	if err != nil || number(t, db, "job") != 3 {
		t.Errorf("%v, %d", err, number(t, db, "job"))
	}
}
