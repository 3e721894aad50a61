package relational

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"

	"sluice/internal/document"
	"sluice/internal/document/views"
)

// makeViews makes the views that people read documents by, and replaces those that
// are declared otherwise by now. If there is nothing to do it only reads. Of several
// processes one is at it at a time. Views that are no longer declared stay: somebody
// may read them.
func (d *DB) makeViews(ctx context.Context, kinds document.Kinds) error {
	changed, err := d.changedViews(ctx, kinds)
	if err != nil || len(changed) == 0 {
		return err
	}
	// The row without a name is locked by whoever is at it. Views are made on another
	// connection, as some servers commit what precedes that.
	return d.Tx(ctx, func(tx *Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE document_view SET definition = CASE WHEN definition = 'a' THEN 'b' ELSE 'a' END WHERE name = ''"); err != nil {
			return err
		}
		changed, err := d.changedViews(ctx, kinds)
		if err != nil {
			return err
		}
		for i := range changed {
			for _, s := range d.options.Dialect.ReplaceView(&changed[i].View, changed[i].definition) {
				if _, err := s.Exec(ctx, d.pool); err != nil {
					return fmt.Errorf("the view %s cannot be made; the user must be allowed to create views: %w", changed[i].Name, err)
				}
			}
		}
		return nil
	})
}

// changedView is a view that is not there as it is declared.
type changedView struct {
	views.View
	// definition stands for its text, which servers do not keep as it was written.
	definition string
}

func (d *DB) changedViews(ctx context.Context, kinds document.Kinds) (changed []changedView, err error) {
	noted, there := map[string]string{}, map[string]bool{}
	err = d.Query(ctx, func(r *sql.Rows) error {
		var name, definition string
		err := r.Scan(&name, &definition)
		noted[name] = definition
		return err
	}, "SELECT name, definition FROM document_view WHERE name <> ''")
	if err != nil {
		return nil, err
	}
	err = d.Query(ctx, func(r *sql.Rows) error {
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
