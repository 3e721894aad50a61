package relational

import (
	"context"
	"database/sql"
	"slices"

	"sluice/internal/document"
	"sluice/internal/document/wordindex"
	"sluice/internal/document/words"
)

// wordCount is how far the entries with a word are counted: which of two words is the
// rarer one matters only if one of them is rare.
const wordCount = 2000

// wordRange is what one condition of a search reads: the entries that have a word, or
// one that begins with it.
type wordRange struct {
	word   string
	prefix bool
	count  int64
}

// in adds the condition for the table of that name.
func (r *wordRange) in(s *Statement, table string) *Statement {
	if r.prefix {
		return s.Write(table + ".word >= ").Blob([]byte(r.word)).Write(" AND " + table + ".word < ").Blob([]byte(words.Beyond(r.word)))
	}
	return s.Write(table + ".word = ").Blob([]byte(r.word))
}

// Search implements wordindex.Index: it walks along the entries with the rarest word,
// newest first, and looks for each whether it has the others.
func (s *Words) Search(ctx context.Context, l wordindex.Lookup) (hits []wordindex.Hit, err error) {
	ranges := make([]wordRange, 0, len(l.Has)+len(l.Begins))
	for _, word := range l.Has {
		ranges = append(ranges, wordRange{word: word})
	}
	for _, prefix := range l.Begins {
		ranges = append(ranges, wordRange{word: prefix, prefix: true})
	}
	if err := s.rarestFirst(ctx, ranges); err != nil {
		return nil, err
	}
	find := searchStatement(&l, ranges)
	err = s.db.Run(ctx, find, func(r *sql.Rows) error {
		var hit wordindex.Hit
		var kind, name string
		err := r.Scan(&hit.ID, &hit.Key.Account, &kind, &name)
		hit.Key.Kind, hit.Key.Name = document.Kind(kind), name
		hits = append(hits, hit)
		return err
	})
	return hits, err
}

// rarestFirst sorts ranges. Where none is rare, words go before prefixes: their entries
// are in the order of results.
func (s *Words) rarestFirst(ctx context.Context, ranges []wordRange) error {
	if len(ranges) < 2 {
		return nil
	}
	var count Statement
	for i := range ranges {
		if i > 0 {
			count.Write(" UNION ALL ")
		}
		count.Write("SELECT ").Int(int64(i)).Write(" AS n, COUNT(*) AS entries FROM (SELECT c.id FROM word_posting c WHERE ")
		ranges[i].in(&count, "c").Write(" LIMIT ").Int(wordCount).Write(") AS counted")
	}
	err := s.db.Run(ctx, &count, func(r *sql.Rows) error {
		var i, n int64
		err := r.Scan(&i, &n)
		ranges[i].count = n
		return err
	})
	slices.SortStableFunc(ranges, func(a, b wordRange) int { return int(a.count - b.count) })
	return err
}

func searchStatement(l *wordindex.Lookup, ranges []wordRange) *Statement {
	s := &Statement{}
	s.Write("SELECT e.id, e.account_id, e.kind, e.name FROM (SELECT ")
	if ranges[0].prefix {
		// An entry may have several words that begin like that.
		s.Write("DISTINCT ")
	}
	s.Write("p.id FROM word_posting p WHERE ")
	ranges[0].in(s, "p")
	if l.Before != 0 {
		s.Write(" AND p.id < ").Int(l.Before)
	}
	for i := range ranges[1:] {
		other := &ranges[1+i]
		if other.prefix {
			other.in(s.Write(" AND p.id IN (SELECT q.id FROM word_posting q WHERE "), "q").Write(")")
		} else {
			// A value cannot be turned into a join, which would be read in another order.
			other.in(s.Write(" AND (SELECT q.id FROM word_posting q WHERE "), "q").Write(" AND q.id = p.id) IS NOT NULL")
		}
	}
	if len(l.AnyOf) > 0 {
		s.Write(" AND (SELECT MIN(q.id) FROM word_posting q WHERE q.id = p.id AND q.word IN (")
		writeWords(s, l.AnyOf)
		s.Write(")) IS NOT NULL")
	}
	for _, word := range l.Lacks {
		s.Write(" AND (SELECT q.id FROM word_posting q WHERE q.word = ").Blob([]byte(word)).Write(" AND q.id = p.id) IS NULL")
	}
	s.Write(" ORDER BY p.id DESC LIMIT ").Int(int64(l.Limit))
	return s.Write(") AS h JOIN word_entry e ON e.id = h.id ORDER BY e.id DESC")
}
