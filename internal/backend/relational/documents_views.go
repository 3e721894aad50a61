package relational

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"sluice/internal/backoff"
	"sluice/internal/document"
	"sluice/internal/document/views"
	"sluice/internal/domain"
)

// viewTries is how often somebody who wants to make views looks whether another
// has done it: for about half a minute.
const viewTries = 300

// makeViews makes the views that people read documents by, and replaces those that
// are declared otherwise by now. If there is nothing to do it only reads. Of several
// processes one is at it at a time. Views that are no longer declared stay: somebody
// may read them.
func (d *DB) makeViews(ctx context.Context, kinds document.Kinds) error {
	changed, err := d.changedViews(ctx, d.pool, kinds)
	for try := 1; err == nil && len(changed) > 0; try++ {
		done, failed := d.tryViews(ctx, kinds)
		if failed != nil || done {
			return d.Describe(ctx, failed)
		}
		if try == viewTries {
			return domain.Errorf(domain.CodeConflict, "another process makes the views of documents, and does not end; try again when it is done")
		}
		if !backoff.Sleep(ctx, collisionDelays.Delay(try)) {
			return ctx.Err()
		}
		changed, err = d.changedViews(ctx, d.pool, kinds)
	}
	return d.Describe(ctx, err)
}

// session is a connection that statements are run on.
type session struct {
	*sql.Conn
	dialect *Dialect
}

// Dialect is what the server speaks.
func (s session) Dialect() *Dialect { return s.dialect }

// tryViews makes the views unless another process is at it. All is done on the
// connection that has the lock: there may be no other, and some servers end a
// transaction when a view is made.
func (d *DB) tryViews(ctx context.Context, kinds document.Kinds) (done bool, err error) {
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	name := LockName("views", d.options.Name)
	got, err := d.options.Dialect.TryLock(ctx, conn, name)
	if err != nil || !got {
		return false, err
	}
	defer func() { err = errors.Join(err, d.options.Dialect.Unlock(context.WithoutCancel(ctx), conn, name)) }()
	on := session{conn, d.options.Dialect}
	changed, err := d.changedViews(ctx, on, kinds)
	if err != nil {
		return false, err
	}
	for i := range changed {
		for _, s := range d.options.Dialect.ReplaceView(&changed[i].View, changed[i].definition) {
			if _, err := s.Exec(ctx, on); err != nil {
				return false, fmt.Errorf("the view %s cannot be made; the user must be allowed to create views: %w", changed[i].Name, err)
			}
		}
	}
	return true, nil
}

// changedView is a view that is not there as it is declared.
type changedView struct {
	views.View
	// definition stands for its text, which servers do not keep as it was written.
	definition string
}

func (d *DB) changedViews(ctx context.Context, on Querier, kinds document.Kinds) (changed []changedView, err error) {
	noted, there := map[string]string{}, map[string]bool{}
	err = Query(ctx, on, func(r *sql.Rows) error {
		var name, definition string
		err := r.Scan(&name, &definition)
		noted[name] = definition
		return err
	}, "SELECT name, definition FROM document_view /*! FORCE INDEX (PRIMARY) */ WHERE name > ''")
	if err != nil {
		return nil, err
	}
	err = Query(ctx, on, func(r *sql.Rows) error {
		var name string
		err := r.Scan(&name)
		there[name] = true
		return err
	}, "SELECT table_name FROM information_schema.tables WHERE table_schema = "+d.options.Dialect.CurrentSchema)
	if err != nil {
		return nil, err
	}
	taken := func(name string) bool { _, ours := noted[name]; return there[name] && !ours }
	for _, v := range views.Of(kinds, d.options.Dialect.Views, taken) {
		sum := sha256.Sum256([]byte(v.Query))
		if definition := hex.EncodeToString(sum[:]); !there[v.Name] || noted[v.Name] != definition {
			changed = append(changed, changedView{v, definition})
		}
	}
	return changed, nil
}
