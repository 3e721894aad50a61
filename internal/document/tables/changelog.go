package tables

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// LogRow is a row of the table change_log: changes of one account that were
// committed together. They have the positions up to Last.
type LogRow struct {
	ID, Account int64
	// Last is 0 until the row has a position.
	Last, Count int64
	At          int64 // microseconds since 1970
	Entries     []byte
}

const (
	// maxLogEntries is how many changes a row holds.
	maxLogEntries = 1000
	// maxLogRows is how many rows are written at once.
	maxLogRows = 32
)

// whats are what an entry's number stands for; stored ones have them as they are.
var whats = [...]document.What{document.Created, document.Updated, document.Deleted, document.Purged}

// changeLog collects the changes of a transaction, and writes them.
type changeLog struct {
	write func([]LogRow) error
	at    int64
	rows  []LogRow
	open  map[int64]*openRow
}

// openRow is a row that has room; kind is that of its last entry.
type openRow struct {
	LogRow
	kind document.Kind
}

func (s *Store[T, P]) newLog(ctx context.Context, t T) *changeLog {
	return &changeLog{
		at: micros(s.now()), open: map[int64]*openRow{},
		write: func(rows []LogRow) error { return s.rows.Log(ctx, t, rows) },
	}
}

// add logs a change.
func (l *changeLog) add(key *document.Key, what document.What, version time.Time) {
	row := l.open[key.Account]
	if row == nil {
		row = &openRow{LogRow: LogRow{Account: key.Account, At: l.at}}
		l.open[key.Account] = row
	}
	row.Entries = appendEntry(row.Entries, key, row.kind, what, version)
	row.kind = key.Kind
	if row.Count++; row.Count == maxLogEntries {
		l.rows = append(l.rows, row.LogRow)
		delete(l.open, key.Account)
	}
}

// close writes them.
func (l *changeLog) close() error {
	for _, row := range l.open {
		l.rows = append(l.rows, row.LogRow)
	}
	for part := range slices.Chunk(l.rows, maxLogRows) {
		if err := l.write(part); err != nil {
			return err
		}
	}
	return nil
}

// PurgedRow says that everything of an account was removed.
func PurgedRow(account int64, at time.Time) LogRow {
	key := document.Key{Account: account}
	return LogRow{Account: account, Count: 1, At: micros(at), Entries: appendEntry(nil, &key, "", document.Purged, time.Time{})}
}

// appendEntry writes an entry: what happened, the kind, unless it is that of the
// entry before, the name, and the version.
func appendEntry(b []byte, key *document.Key, last document.Kind, what document.What, version time.Time) []byte {
	for i, w := range whats {
		if w == what {
			b = append(b, byte(i))
		}
	}
	if key.Kind == last {
		b = append(b, 0)
	} else {
		b = appendText(b, string(key.Kind))
	}
	return binary.AppendVarint(appendText(b, key.Name), micros(version))
}

// changes reads the entries of a row that has positions.
func (r *LogRow) changes() ([]document.Change, error) {
	changes := make([]document.Change, 0, r.Count)
	read := entryReader{rest: r.Entries}
	var kind document.Kind
	for position := r.Last - r.Count + 1; position <= r.Last; position++ {
		what := read.byte()
		if k := read.text(); k != "" {
			kind = document.Kind(k)
		}
		name, version := read.text(), read.number()
		if read.short || int(what) >= len(whats) {
			return nil, domain.Errorf(domain.CodeCorrupt, "the log of changes cannot be read at position %d", position)
		}
		changes = append(changes, document.Change{
			Position: position, Key: document.Key{Account: r.Account, Kind: kind, Name: name},
			What: whats[what], Version: instant(version), At: instant(r.At),
		})
	}
	return changes, nil
}

// entryReader takes an entry apart; short says that it ended too early.
type entryReader struct {
	rest  []byte
	short bool
}

func (e *entryReader) byte() (b byte) {
	if len(e.rest) == 0 {
		e.short = true
		return 0
	}
	b, e.rest = e.rest[0], e.rest[1:]
	return b
}

func (e *entryReader) text() string {
	n, size := binary.Uvarint(e.rest)
	if size <= 0 || n > uint64(len(e.rest)-size) {
		e.short = true
		return ""
	}
	text := string(e.rest[size : size+int(n)])
	e.rest = e.rest[size+int(n):]
	return text
}

func (e *entryReader) number() int64 {
	n, size := binary.Varint(e.rest)
	if size <= 0 {
		e.short = true
		return 0
	}
	e.rest = e.rest[size:]
	return n
}
