package mysqldb

import (
	"cmp"
	"context"
	"slices"
)

// Insert is an INSERT of any number of rows: Head is everything up to VALUES,
// Tail what follows the rows.
type Insert struct{ Head, Tail string }

// Row is one row of an Insert: "(1,2,?)".
type Row struct {
	Statement
	// Key orders the rows: who writes many takes their locks in this order,
	// so that two of them do not wait for each other.
	Key string
}

// Rows are rows on their way into a transaction.
type Rows struct {
	Insert *Insert
	Rows   []Row
}

const (
	// maxStatement is about how long a statement becomes before the next is
	// begun, well below what any server takes.
	maxStatement = 1 << 20
	// maxParameters is less than a prepared statement may have: what is too
	// long for one packet is sent that way.
	maxParameters = 32_000
)

// Run inserts rows in as few statements as their sizes allow, and returns how
// many of them changed anything. Rows with the same key stay in order.
func (in *Insert) Run(ctx context.Context, q Querier, rows []Row) (changed int64, err error) {
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.Key, b.Key) })
	for len(rows) > 0 {
		var s Statement
		s.Grow(len(in.Head)+len(in.Tail)+len(rows)*len(rows[0].sql), len(rows)*len(rows[0].args))
		s.Write(in.Head).Write(" VALUES ")
		n := 0
		for ; n < len(rows); n++ {
			row := &rows[n]
			if n > 0 && (s.Len()+row.Len() > maxStatement || len(s.args)+len(row.args) > maxParameters) {
				break
			}
			if n > 0 {
				s.Write(",")
			}
			s.Append(&row.Statement)
		}
		s.Write(" ").Write(in.Tail)
		result, err := s.Exec(ctx, q)
		if err != nil {
			return 0, err
		}
		part, err := result.RowsAffected()
		if err != nil {
			return 0, err
		}
		changed, rows = changed+part, rows[n:]
	}
	return changed, nil
}

// Write inserts rows of several callers, those of one Insert together. The
// order of the Inserts is that in which they are met first.
func Write(ctx context.Context, q Querier, all []Rows) error {
	var order []*Insert
	merged := map[*Insert][]Row{}
	for _, r := range all {
		if _, met := merged[r.Insert]; !met {
			order = append(order, r.Insert)
		}
		merged[r.Insert] = append(merged[r.Insert], r.Rows...)
	}
	for _, in := range order {
		if _, err := in.Run(ctx, q, merged[in]); err != nil {
			return err
		}
	}
	return nil
}
