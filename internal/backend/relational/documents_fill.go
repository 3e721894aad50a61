package relational

import (
	"context"
	"database/sql"
	"encoding/json"

	"sluice/internal/document"
)

var _ document.Filler = (*Documents)(nil)

// ownOf reads the values of its own of a document.
func (s *Documents) ownOf(ctx context.Context, tx *Tx, key document.Key, version int64) (own document.Values, content int64, found bool, err error) {
	columns := readColumns{own: s.columns.own.Of(s.kinds, key.Kind)}
	var find Statement
	find.Write("SELECT " + columns.own.After("content", "") + " FROM document WHERE account_id = ").Int(key.Account)
	find.Write(" AND kind = ").Blob(keyOf(string(key.Kind), kindWidth)).Write(" AND name = ").Blob(keyOf(key.Name, nameWidth))
	err = find.Write(" AND version = ").Int(version).Write(" FOR UPDATE").Query(ctx, tx, func(r *sql.Rows) error {
		var d document.Document
		values, into := columns.targets()
		err := r.Scan(append([]any{&content}, into...)...)
		columns.readOwn(values, &d)
		own, found = d.Own, true
		return err
	})
	return own, content, found, err
}

// fill sets what the document has; a statement of all columns would be long.
func (s *Documents) fill(ctx context.Context, tx *Tx, d *document.Document, content int64) error {
	own := s.columns.own.Of(s.kinds, d.Kind)
	var fill Statement
	begin := "UPDATE document SET "
	for i := range own {
		text, number, null := own.Value(i, d)
		if null {
			continue
		}
		fill.Write(begin + own.Name(i) + " = COALESCE(" + own.Name(i) + ", ")
		if own.IsText(i) {
			fill.Text(text)
		} else {
			fill.Int(number)
		}
		fill.Write(")")
		begin = ", "
	}
	if begin != ", " {
		return nil
	}
	fill.Write(", content = ").Int(content).Write(" WHERE account_id = ").Int(d.Account).Write(" AND kind = ").Blob(keyOf(string(d.Kind), kindWidth))
	fill.Write(" AND name = ").Blob(keyOf(d.Name, nameWidth)).Write(" AND version = ").Time(d.Version)
	_, err := fill.Exec(ctx, tx)
	return err
}

// Fillings implements document.Fillings.
type Fillings struct{ db *DB }

var _ document.Fillings = (*Fillings)(nil)

// NewFillings returns a store on an open database.
func NewFillings(db *DB) *Fillings { return &Fillings{db} }

// Filling implements document.Fillings.
func (s *Fillings) Filling(ctx context.Context, signature string) (f document.Filling, err error) {
	var data []byte
	err = s.db.Query(ctx, func(r *sql.Rows) error { return r.Scan(&data) },
		"SELECT progress FROM document_filling WHERE signature = ?", signature)
	if err != nil || len(data) == 0 {
		return f, err
	}
	return f, json.Unmarshal(data, &f)
}

// SaveFilling implements document.Fillings.
func (s *Fillings) SaveFilling(ctx context.Context, signature string, f document.Filling) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	done := 0
	if f.Done {
		done = 1
	}
	_, err = s.db.Exec(ctx, "INSERT INTO document_filling (signature, done, progress) VALUES (?, ?, ?) "+s.db.Dialect().Upsert(Upsert{
		Key: "signature",
		Set: "progress = CASE WHEN document_filling.done = 0 THEN excluded.progress ELSE document_filling.progress END, " +
			"done = GREATEST(document_filling.done, excluded.done)",
	}), signature, done, data)
	return err
}
