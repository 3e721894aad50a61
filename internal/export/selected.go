package export

import (
	"context"
	"io"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// selectedAtOnce is how many documents of a selection are read at once.
const selectedAtOnce = 1000

// selected exports the documents of a selection, in its order.
func selected(ctx context.Context, src Sources, o Options, w io.Writer, kind *document.Declaration) (rows int64, err error) {
	out, err := newTable(w, kind, o.Format)
	if err != nil {
		return 0, err
	}
	accounts := map[int64]domain.Account{}
	for _, a := range o.Accounts {
		accounts[a.ID] = a
	}
	places := &Places{Kinds: src.Kinds, Finder: src.Finder, accounts: accounts}
	row := make([]document.Value, len(kind.Columns))
	selection := *o.Selected
	selection.Limit = selectedAtOnce
	for {
		page, err := src.Lister.List(ctx, selection)
		if err != nil {
			return rows, err
		}
		at, err := places.of(ctx, kind, page.Documents)
		if err != nil {
			return rows, err
		}
		for i := range page.Documents {
			d := &page.Documents[i]
			// One of an account that is not exported is not asked for.
			if _, asked := accounts[d.Account]; !asked {
				continue
			}
			if err := fill(row, kind.Columns, d, at[d.Account]); err != nil {
				return rows, err
			}
			if err := out.write(row); err != nil {
				return rows, err
			}
			rows++
		}
		if page.Next == nil {
			return rows, out.Close()
		}
		selection.After = page.Next
	}
}
