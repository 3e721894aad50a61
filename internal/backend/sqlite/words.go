package sqlite

import (
	"context"
	"math"
	"strings"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/document/wordindex"
)

// Words implements wordindex.Index by FTS5, which is given words that are cut and
// folded already: each consists of letters and digits alone, and a tokenizer that knows
// ASCII alone leaves it whole. Ids are in the order of results, so that the newest
// matches are read from the end of its lists, and no more than are asked for.
type Words struct {
	wordindex.Store[*driver.Conn]
	db *DB
}

var _ wordindex.Index = (*Words)(nil)

// NewWords returns the index of an open database, which stays the caller's.
func NewWords(db *DB) *Words {
	return &Words{wordindex.NewStore(db.Write, func(c *driver.Conn) wordindex.Rows { return wordRows{c} }), db}
}

// Progress implements wordindex.Index.
func (s *Words) Progress(ctx context.Context) (p wordindex.Progress, err error) {
	var data []byte
	err = s.db.Read(ctx, func(c *driver.Conn) (err error) {
		data, err = wordRows{c}.Progress(ctx)
		return err
	})
	if err != nil {
		return p, err
	}
	return wordindex.ReadProgress(data)
}

// Search implements wordindex.Index.
func (s *Words) Search(ctx context.Context, l wordindex.Lookup) (hits []wordindex.Hit, err error) {
	before := l.Before
	if before == 0 {
		before = math.MaxInt64
	}
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		hits = nil
		return Exec(c, `SELECT e.id, e.account_id, e.kind, e.name FROM word_text CROSS JOIN word_entry e ON e.id = word_text.rowid
			WHERE word_text MATCH ? AND word_text.rowid < ? ORDER BY word_text.rowid DESC LIMIT ?`, func(r *driver.Stmt) {
			key := document.Key{Account: r.ColumnInt64(1), Kind: document.Kind(r.ColumnText(2)), Name: r.ColumnText(3)}
			hits = append(hits, wordindex.Hit{ID: r.ColumnInt64(0), Key: key})
		}, matchOf(&l), before, l.Limit)
	})
	return hits, err
}

// matchOf is a lookup as FTS5 is asked. Words have no quotation marks.
func matchOf(l *wordindex.Lookup) string {
	var all []string
	for _, word := range l.Has {
		all = append(all, `"`+word+`"`)
	}
	for _, prefix := range l.Begins {
		all = append(all, `"`+prefix+`"*`)
	}
	if len(l.AnyOf) > 0 {
		all = append(all, `("`+strings.Join(l.AnyOf, `" OR "`)+`")`)
	}
	match := strings.Join(all, " AND ")
	for _, word := range l.Lacks {
		match = "(" + match + `) NOT "` + word + `"`
	}
	return match
}

// Drop implements wordindex.Index. FTS5 leaves what was taken out of it in older parts
// of its index: once nothing is left to be removed these are merged, a step at a time,
// so that the words of an account that was purged are gone from the file.
func (s *Words) Drop(ctx context.Context, account int64, most int) (more bool, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		rows := wordRows{c}
		query, args := "SELECT "+wordEntryColumns+" FROM word_entry WHERE account_id = ? LIMIT ?", []any{account, most}
		if account == 0 {
			query, args = "SELECT "+wordEntryColumns+" FROM word_entry ORDER BY id LIMIT ?", []any{most}
		}
		var changes []wordindex.Change
		err := Exec(c, query, func(r *driver.Stmt) {
			e := scanWordEntry(r)
			changes = append(changes, wordindex.Change{Old: &e})
		}, args...)
		if err == nil {
			err = rows.Change(ctx, changes)
		}
		if more = len(changes) == most; err != nil || more {
			return err
		}
		more, err = rows.merge()
		return err
	})
	return more, err
}

// wordRows implements wordindex.Rows.
type wordRows struct{ conn *driver.Conn }

// Progress implements wordindex.Rows.
func (t wordRows) Progress(context.Context) (progress []byte, err error) {
	err = Exec(t.conn, "SELECT progress FROM word_progress WHERE id = 1", func(r *driver.Stmt) { progress = readBlob(r, 0) })
	return progress, err
}

// SaveProgress implements wordindex.Rows.
func (t wordRows) SaveProgress(_ context.Context, progress []byte) error {
	return Exec(t.conn, "INSERT INTO word_progress (id, progress) VALUES (1, ?) ON CONFLICT DO UPDATE SET progress = excluded.progress", nil, progress)
}

const wordEntryColumns = "id, account_id, kind, name, words"

func scanWordEntry(r *driver.Stmt) wordindex.Entry {
	return wordindex.Entry{
		ID: r.ColumnInt64(0), Key: document.Key{Account: r.ColumnInt64(1), Kind: document.Kind(r.ColumnText(2)), Name: r.ColumnText(3)},
		Words: strings.Split(r.ColumnText(4), " "),
	}
}

// Entries implements wordindex.Rows.
func (t wordRows) Entries(_ context.Context, keys []document.Key) (entries []wordindex.Entry, err error) {
	for _, key := range keys {
		err := Exec(t.conn, "SELECT "+wordEntryColumns+" FROM word_entry WHERE account_id = ? AND kind = ? AND name = ?",
			func(r *driver.Stmt) { entries = append(entries, scanWordEntry(r)) }, key.Account, string(key.Kind), key.Name)
		if err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// Taken implements wordindex.Rows.
func (t wordRows) Taken(_ context.Context, ids []int64) (taken []int64, err error) {
	err = Exec(t.conn, "SELECT id FROM word_entry WHERE id IN (SELECT value FROM json_each(?))",
		func(r *driver.Stmt) { taken = append(taken, r.ColumnInt64(0)) }, idList(ids))
	return taken, err
}

// Change takes all that is old out first: an id or a key of it may be used again.
func (t wordRows) Change(_ context.Context, changes []wordindex.Change) error {
	for _, c := range changes {
		if c.Old == nil {
			continue
		}
		err := Exec(t.conn, "INSERT INTO word_text (word_text, rowid, words) VALUES ('delete', ?, ?)", nil, c.Old.ID, strings.Join(c.Old.Words, " "))
		if err == nil {
			err = Exec(t.conn, "DELETE FROM word_entry WHERE id = ?", nil, c.Old.ID)
		}
		if err != nil {
			return err
		}
	}
	for _, c := range changes {
		if c.New == nil {
			continue
		}
		e, text := c.New, strings.Join(c.New.Words, " ")
		err := Exec(t.conn, "INSERT INTO word_text (rowid, words) VALUES (?, ?)", nil, e.ID, text)
		if err == nil {
			err = Exec(t.conn, "INSERT INTO word_entry ("+wordEntryColumns+") VALUES (?, ?, ?, ?, ?)", nil, e.ID, e.Key.Account, string(e.Key.Kind), e.Key.Name, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mergePages is about how many pages of the index one step merges.
const mergePages = 500

// merge merges parts of the index; more says that there is something left to merge.
func (t wordRows) merge() (more bool, err error) {
	total, err := number(t.conn, "SELECT total_changes()")
	if err != nil {
		return false, err
	}
	// A negative number also begins to merge parts that would be left alone.
	if err := Exec(t.conn, "INSERT INTO word_text (word_text, rank) VALUES ('merge', ?)", nil, -mergePages); err != nil {
		return false, err
	}
	now, err := number(t.conn, "SELECT total_changes()")
	// FTS5 says so: fewer than two changes are none.
	return now-total >= 2, err
}
