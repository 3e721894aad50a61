package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/document/tables"
)

// heldColumns are what is read of a document to know whether it changes.
const heldColumns = "account_id, kind, name, version, seen_at, repository, title, content, gone_why, gone_at, gone_last"

// eachHeld passes what a statement selects as heldColumns.
func eachHeld(each func(*document.Held)) func(*driver.Stmt) {
	return func(r *driver.Stmt) {
		each(&document.Held{
			Key:     document.Key{Account: r.ColumnInt64(0), Kind: document.Kind(r.ColumnText(1)), Name: r.ColumnText(2)},
			Version: fromMicros(r.ColumnInt64(3)), SeenAt: fromMicros(r.ColumnInt64(4)), Repository: r.ColumnInt64(5),
			Title: r.ColumnText(6), Content: r.ColumnInt64(7), Mark: scanMark(r, 8),
		})
	}
}

// homes needs no locks: there is one writer.
func homes(_ context.Context, c *driver.Conn, homes []tables.Home, each func(tables.Home, document.Presence)) error {
	for _, h := range homes {
		err := Exec(c, "SELECT seen_at, gone_why, gone_at, gone_last FROM repository_presence WHERE account_id = ? AND repository = ?", func(r *driver.Stmt) {
			each(h, document.Presence{SeenAt: fromMicros(r.ColumnInt64(0)), Mark: scanMark(r, 1)})
		}, h.Account, h.Repository)
		if err != nil {
			return err
		}
	}
	return nil
}

func heldOf(_ context.Context, c *driver.Conn, keys []document.Key, each func(*document.Held)) error {
	read := eachHeld(each)
	for i := range keys {
		err := Exec(c, "SELECT "+heldColumns+" FROM document WHERE account_id = ? AND kind = ? AND name = ?", read,
			keys[i].Account, string(keys[i].Kind), keys[i].Name)
		if err != nil {
			return err
		}
	}
	return nil
}

func unseen(_ context.Context, c *driver.Conn, a *document.Absence, each func(*document.Held)) error {
	sql, args := absenceStatement("SELECT "+heldColumns+" FROM document", a)
	return Exec(c, sql, eachHeld(each), args...)
}

func goneOf(_ context.Context, c *driver.Conn, account, repository int64, kind document.Kind, each func(h *document.Held, number int64)) error {
	return Exec(c, "SELECT "+heldColumns+`, number FROM document
		WHERE account_id = ? AND kind = ? AND repository = ? AND gone_why <> '' AND seen_at <= gone_last`, func(r *driver.Stmt) {
		eachHeld(func(h *document.Held) { each(h, r.ColumnInt64(11)) })(r)
	}, account, string(kind), repository)
}

func inside(_ context.Context, c *driver.Conn, account, repository int64, each func(*document.Held)) error {
	return Exec(c, "SELECT "+heldColumns+" FROM document WHERE account_id = ? AND repository = ?", eachHeld(each), account, repository)
}
