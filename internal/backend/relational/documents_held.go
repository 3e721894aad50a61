package relational

import (
	"context"
	"database/sql"

	"sluice/internal/document"
	"sluice/internal/document/tables"
)

// heldColumns are what is read of a document to know whether it changes.
const (
	heldOnly    = `account_id, kind, name, kind_rest, name_rest, version, seen_at, repository, title, content, gone_why, gone_at, gone_last`
	heldFrom    = ` FROM document /*! FORCE INDEX (PRIMARY) */`
	heldColumns = heldOnly + heldFrom
)

// eachHeld passes what a statement selects as heldColumns.
func eachHeld(each func(*document.Held), beside ...any) func(*sql.Rows) error {
	return func(r *sql.Rows) error {
		var h document.Held
		var kind, name, kindRest, nameRest, why string
		var version, seen, goneAt, goneLast int64
		err := r.Scan(append([]any{&h.Account, &kind, &name, &kindRest, &nameRest, &version, &seen, &h.Repository, &h.Title, &h.Content,
			&why, &goneAt, &goneLast}, beside...)...)
		h.Kind, h.Name = document.Kind(whole(kind, kindRest, kindWidth)), whole(name, nameRest, nameWidth)
		h.Version, h.SeenAt, h.Mark = Time(version), Time(seen), tables.Mark(why, goneAt, goneLast)
		each(&h)
		return err
	}
}

// alike cuts what is sorted into parts of neighbours that have something in common,
// each short enough for a statement.
func alike[E any](all []E, same func(a, b *E) bool, each func([]E) error) error {
	for from, i := 0, 1; from < len(all); i++ {
		if i < len(all) && i-from < maxIDs && same(&all[from], &all[i]) {
			continue
		}
		if err := each(all[from:i]); err != nil {
			return err
		}
		from = i
	}
	return nil
}

// eachKind calls each with the condition for keys, a kind of an account at a time.
func eachKind(keys []document.Key, table string, each func(where *Statement) error) error {
	same := func(a, b *document.Key) bool { return a.Account == b.Account && a.Kind == b.Kind }
	return alike(keys, same, func(part []document.Key) error { return each(withKeys(part, table)) })
}

// withKeys is a condition on rows: to have one of some keys, which are of one account and
// of one kind.
func withKeys(keys []document.Key, table string) *Statement {
	var where Statement
	where.Write(table + "account_id = ").Int(keys[0].Account).Write(" AND " + table + "kind = ").Blob(keyOf(string(keys[0].Kind), kindWidth))
	where.Write(" AND " + table + "name IN (")
	for i := range keys {
		if i > 0 {
			where.Write(",")
		}
		where.Blob(keyOf(keys[i].Name, nameWidth))
	}
	return where.Write(")")
}

// heldOf locks rows in the order of their keys.
func heldOf(ctx context.Context, tx *Tx, keys []document.Key, each func(*document.Held)) error {
	return eachKind(keys, "", func(where *Statement) error {
		var find Statement
		find.Write("SELECT " + heldColumns + " WHERE ").Append(where)
		return find.Write(" ORDER BY account_id, kind, name FOR UPDATE").Query(ctx, tx, eachHeld(each))
	})
}

func unseen(ctx context.Context, tx *Tx, a *document.Absence, each func(*document.Held)) error {
	return absenceStatement(a, "SELECT "+heldColumns+ofKind+" AND seen_at < {unseen} AND "+claimed+ofNumbers(a)+" ORDER BY account_id, kind, name FOR UPDATE").Query(ctx, tx, eachHeld(each))
}

func goneOf(ctx context.Context, tx *Tx, account, repository int64, kind document.Kind, each func(h *document.Held, number int64)) error {
	var number int64
	a := document.Absence{Account: account, Repository: repository, Kind: kind}
	return absenceStatement(&a, "SELECT "+heldOnly+", number"+heldFrom+ofKind+" AND gone_why <> '' AND seen_at <= gone_last ORDER BY account_id, kind, name FOR UPDATE").
		Query(ctx, tx, eachHeld(func(h *document.Held) { each(h, number) }, &number))
}

func inside(ctx context.Context, tx *Tx, account, repository int64, each func(*document.Held)) error {
	var find Statement
	find.Write("SELECT " + heldColumns + " WHERE account_id = ").Int(account).Write(" AND repository = ").Int(repository)
	return find.Query(ctx, tx, eachHeld(each))
}

// homes locks rows: with others who do the same, unless it is alone.
func homes(ctx context.Context, tx *Tx, all []tables.Home, each func(tables.Home, document.Presence)) error {
	same := func(a, b *tables.Home) bool { return a.Account == b.Account && a.Alone == b.Alone }
	return alike(all, same, func(part []tables.Home) error {
		lock := tx.Dialect().ForShare
		if part[0].Alone {
			lock = "FOR UPDATE"
		}
		ids := make([]int64, len(part))
		for i := range part {
			ids[i] = part[i].Repository
		}
		var find Statement
		find.Write("SELECT account_id, repository, seen_at, gone_why, gone_at, gone_last FROM repository_presence WHERE account_id = ").Int(part[0].Account)
		find.Write(" AND repository IN (").Ints(ids...).Write(") ORDER BY account_id, repository " + lock)
		return find.Query(ctx, tx, func(r *sql.Rows) error {
			var h tables.Home
			var why string
			var seen, goneAt, goneLast int64
			err := r.Scan(&h.Account, &h.Repository, &seen, &why, &goneAt, &goneLast)
			each(h, document.Presence{SeenAt: Time(seen), Mark: tables.Mark(why, goneAt, goneLast)})
			return err
		})
	})
}

// markSeen notes that documents were seen, those of a page together.
func markSeen(ctx context.Context, tx *Tx, seen []tables.Seen) error {
	same := func(a, b *tables.Seen) bool { return a.Account == b.Account && a.Kind == b.Kind && a.At == b.At }
	return alike(seen, same, func(part []tables.Seen) error {
		keys := make([]document.Key, len(part))
		for i := range part {
			keys[i] = part[i].Key
		}
		return eachKind(keys, "", func(where *Statement) error {
			var set Statement
			set.Write("UPDATE document SET seen_at = ").Int(part[0].At).Write(" WHERE ").Append(where)
			_, err := set.Write(" AND seen_at < ").Int(part[0].At).Exec(ctx, tx)
			return err
		})
	})
}

func sight(ctx context.Context, tx *Tx, sightings []document.Sighting) error {
	rows := Rows{Insert: insertSighting}
	for _, one := range sightings {
		rows.Rows = append(rows.Rows, sightingRow(one))
	}
	return Write(ctx, tx, []Rows{rows})
}
