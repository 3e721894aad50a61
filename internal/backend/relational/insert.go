package relational

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
)

// Insert is an INSERT of any number of rows: Head is everything up to VALUES,
// and Upsert says what becomes of rows that are there already.
type Insert struct {
	Head   string
	Upsert Upsert
	// tails are what follows the rows, by dialect.
	tails sync.Map
}

// tail is what follows the rows.
func (in *Insert) tail(d *Dialect) string {
	if known, ok := in.tails.Load(d); ok {
		return known.(string)
	}
	tail := ""
	if in.Upsert.Key != "" {
		tail = " " + d.Upsert(in.Upsert)
	}
	in.tails.Store(d, tail)
	return tail
}

// Overwrite are assignments that give columns the new row's values.
func Overwrite(columns ...string) string {
	var set strings.Builder
	for i, c := range columns {
		if i > 0 {
			set.WriteString(", ")
		}
		set.WriteString(c + " = excluded." + c)
	}
	return set.String()
}

// NewerWins are assignments that give columns of a table the new row's values
// unless the old row is the newer one, going by a column that is the last to be
// assigned and never gets smaller.
func NewerWins(table, by string, columns ...string) string {
	var set strings.Builder
	for _, c := range columns {
		set.WriteString(c + " = CASE WHEN excluded." + by + " >= " + table + "." + by + " THEN excluded." + c + " ELSE " + table + "." + c + " END, ")
	}
	return set.String() + by + " = GREATEST(" + table + "." + by + ", excluded." + by + ")"
}

// changes reports whether it changes rows that are there already.
func (u *Upsert) changes() bool { return u.Set != "" || len(u.Replace) > 0 }

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
	sortRows(rows)
	if q.Dialect().RowsOnce && in.Upsert.changes() {
		for _, part := range withoutTwins(rows) {
			n, err := in.run(ctx, q, part)
			if err != nil {
				return 0, err
			}
			changed += n
		}
		return changed, nil
	}
	return in.run(ctx, q, rows)
}

func sortRows(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.Key, b.Key) })
}

// withoutTwins divides sorted rows into parts that have no key twice, and that
// are to be inserted one after the other.
func withoutTwins(rows []Row) (parts [][]Row) {
	turn := 0
	for i := range rows {
		if i > 0 && rows[i].Key == rows[i-1].Key {
			turn++
		} else {
			turn = 0
		}
		if turn == len(parts) {
			parts = append(parts, nil)
		}
		parts[turn] = append(parts[turn], rows[i])
	}
	return parts
}

func (in *Insert) run(ctx context.Context, q Querier, rows []Row) (changed int64, err error) {
	tail := in.tail(q.Dialect())
	for len(rows) > 0 {
		var s Statement
		s.Grow(len(in.Head)+len(tail)+len(rows)*len(rows[0].sql), len(rows)*len(rows[0].args))
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
		result, err := s.Write(tail).Exec(ctx, q)
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

// Statement inserts rows, each with a key of its own, in one statement, for a
// batch that it must fit into.
func (in *Insert) Statement(d *Dialect, rows []Row) *Statement {
	sortRows(rows)
	s := &Statement{}
	s.Write(in.Head).Write(" VALUES ")
	for i := range rows {
		if i > 0 {
			s.Write(",")
		}
		s.Append(&rows[i].Statement)
	}
	return s.Write(in.tail(d))
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
