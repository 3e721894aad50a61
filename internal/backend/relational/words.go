package relational

import (
	"context"
	"database/sql"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"sluice/internal/document"
	"sluice/internal/document/wordindex"
)

// Words implements wordindex.Index by a table of words and the entries that have them,
// in the order of results. Servers' own full-text indexes are not used: neither
// FULLTEXT nor a GIN index knows an order, so that a word that a third of all documents
// has would be found that often before the newest are known; and MySQL's leaves out
// short and frequent words. Here the newest entries with a word stand at the end of one
// range of a key, and a search reads no more of it than it needs.
type Words struct {
	wordindex.Store[*Tx]
	db *DB
}

var _ wordindex.Index = (*Words)(nil)

// NewWords returns the index of an open database, which stays the caller's.
func NewWords(db *DB) *Words {
	return &Words{wordindex.NewStore(db.Tx, func(tx *Tx) wordindex.Rows { return wordRows{tx} }), db}
}

// Progress implements wordindex.Index.
func (s *Words) Progress(ctx context.Context) (wordindex.Progress, error) {
	var data []byte
	err := s.db.Query(ctx, func(r *sql.Rows) error { return r.Scan(&data) }, "SELECT progress FROM word_progress WHERE id = 1")
	if err != nil || len(data) == 0 {
		return wordindex.Progress{}, err
	}
	return wordindex.ReadProgress(data)
}

// Drop implements wordindex.Index.
func (s *Words) Drop(ctx context.Context, account int64, most int) (more bool, err error) {
	err = s.db.Tx(ctx, func(tx *Tx) error {
		var find Statement
		find.Write("SELECT " + wordEntryColumns + " FROM word_entry")
		if account != 0 {
			find.Write(" WHERE account_id = ").Int(account)
		}
		find.Write(" ORDER BY id LIMIT ").Int(int64(most))
		entries, err := readWordEntries(ctx, tx, &find)
		if err != nil {
			return err
		}
		changes := make([]wordindex.Change, len(entries))
		for i := range entries {
			changes[i].Old = &entries[i]
		}
		more = len(entries) == most
		return wordRows{tx}.Change(ctx, changes)
	})
	return more, err
}

// wordRows implements wordindex.Rows.
type wordRows struct{ tx *Tx }

// Progress implements wordindex.Rows.
func (t wordRows) Progress(ctx context.Context) (progress []byte, err error) {
	err = Query(ctx, t.tx, func(r *sql.Rows) error { return r.Scan(&progress) }, "SELECT progress FROM word_progress WHERE id = 1 FOR UPDATE")
	if len(progress) == 0 {
		progress = nil
	}
	return progress, err
}

// SaveProgress implements wordindex.Rows.
func (t wordRows) SaveProgress(ctx context.Context, progress []byte) error {
	var save Statement
	_, err := save.Write("UPDATE word_progress SET progress = ").Blob(progress).Write(" WHERE id = 1").Exec(ctx, t.tx)
	return err
}

const wordEntryColumns = "id, account_id, kind, name, words"

// wordIdentity stands for a key.
func wordIdentity(key document.Key) Hash {
	return HashOf(strconv.FormatInt(key.Account, 10), string(key.Kind), key.Name)
}

func readWordEntries(ctx context.Context, q Querier, find *Statement) (entries []wordindex.Entry, err error) {
	err = find.Query(ctx, q, func(r *sql.Rows) error {
		var e wordindex.Entry
		var kind, name, words string
		err := r.Scan(&e.ID, &e.Key.Account, &kind, &name, &words)
		e.Key.Kind, e.Key.Name, e.Words = document.Kind(kind), name, strings.Split(words, " ")
		entries = append(entries, e)
		return err
	})
	return entries, err
}

// Entries implements wordindex.Rows.
func (t wordRows) Entries(ctx context.Context, keys []document.Key) (entries []wordindex.Entry, err error) {
	for part := range slices.Chunk(keys, maxDeletes) {
		var find Statement
		find.Write("SELECT " + wordEntryColumns + " FROM word_entry WHERE identity IN (")
		for i, key := range part {
			if i > 0 {
				find.Write(",")
			}
			find.Hash(wordIdentity(key))
		}
		some, err := readWordEntries(ctx, t.tx, find.Write(")"))
		if err != nil {
			return nil, err
		}
		entries = append(entries, some...)
	}
	return entries, nil
}

// Taken implements wordindex.Rows.
func (t wordRows) Taken(ctx context.Context, ids []int64) (taken []int64, err error) {
	for part := range slices.Chunk(ids, maxDeletes) {
		var find Statement
		err := find.Write("SELECT id FROM word_entry WHERE id IN (").Ints(part...).Write(")").Query(ctx, t.tx, func(r *sql.Rows) error {
			var id int64
			err := r.Scan(&id)
			taken = append(taken, id)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return taken, nil
}

var (
	insertWordEntry = &Insert{
		Head:   "INSERT INTO word_entry (id, identity, account_id, kind, name, words)",
		Upsert: Upsert{Key: "id", Set: Overwrite("words")},
	}
	insertPosting = &Insert{Head: "INSERT INTO word_posting (word, id)"}
)

// Change writes the words that differ, and no others: most updates of a document leave
// most of its words as they are.
func (t wordRows) Change(ctx context.Context, changes []wordindex.Change) error {
	var old []int64
	var entries, postings []Row
	for i := range changes {
		c := &changes[i]
		gone, added := c.Words()
		if c.Old != nil {
			if err := t.removePostings(ctx, c.Old.ID, gone); err != nil {
				return err
			}
			if c.Moved() {
				old = append(old, c.Old.ID)
			}
		}
		if c.New != nil {
			entries = append(entries, wordEntryRow(c.New))
			for _, word := range added {
				postings = append(postings, postingRow(word, c.New.ID))
			}
		}
	}
	for part := range slices.Chunk(old, maxDeletes) {
		var remove Statement
		if _, err := remove.Write("DELETE FROM word_entry WHERE id IN (").Ints(part...).Write(")").Exec(ctx, t.tx); err != nil {
			return err
		}
	}
	return Write(ctx, t.tx, []Rows{{insertWordEntry, entries}, {insertPosting, postings}})
}

func (t wordRows) removePostings(ctx context.Context, id int64, words []string) error {
	for part := range slices.Chunk(words, maxDeletes) {
		var remove Statement
		remove.Write("DELETE FROM word_posting WHERE id = ").Int(id).Write(" AND word IN (")
		writeWords(&remove, part)
		if _, err := remove.Write(")").Exec(ctx, t.tx); err != nil {
			return err
		}
	}
	return nil
}

// writeWords adds words with commas in between.
func writeWords(s *Statement, words []string) {
	for i, word := range words {
		if i > 0 {
			s.Write(",")
		}
		s.Blob([]byte(word))
	}
}

func wordEntryRow(e *wordindex.Entry) (row Row) {
	row.Write("(").Int(e.ID).Write(",").Hash(wordIdentity(e.Key)).Write(",").Int(e.Key.Account).Write(",").Blob([]byte(e.Key.Kind)).Write(",")
	row.Blob([]byte(e.Key.Name)).Write(",").Blob([]byte(strings.Join(e.Words, " "))).Write(")")
	row.Key = string(binary.BigEndian.AppendUint64(nil, uint64(e.ID)))
	return row
}

func postingRow(word string, id int64) (row Row) {
	row.Write("(").Blob([]byte(word)).Write(",").Int(id).Write(")")
	row.Key = string(binary.BigEndian.AppendUint64([]byte(word+"\x00"), uint64(id)))
	return row
}
