package relational

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Micros is how instants are stored: microseconds since 1970, 0 for none.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Time is the inverse of Micros.
func Time(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// Hash stands for a text, or several, of any length: what is looked up and
// kept unique by it.
type Hash [16]byte

// HashOf hashes texts. Their lengths are part of it, so that no two lists of
// texts become one.
func HashOf(texts ...string) Hash {
	var b []byte
	for _, text := range texts {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	sum := sha256.Sum256(b)
	return Hash(sum[:16])
}

// Statement is SQL with many values. Numbers and hashes are written into it as
// they are; texts and bytes are passed beside it.
type Statement struct {
	sql  []byte
	args []any
	// size is about what texts and bytes add to the length.
	size int
}

// Grow makes room for so many bytes of SQL and so many texts.
func (s *Statement) Grow(bytes, texts int) {
	s.sql = slices.Grow(s.sql, bytes)
	s.args = slices.Grow(s.args, texts)
}

// Write adds SQL.
func (s *Statement) Write(sql string) *Statement {
	s.sql = append(s.sql, sql...)
	return s
}

// With adds SQL that has question marks, and their values.
func (s *Statement) With(sql string, args ...any) *Statement {
	s.args = append(s.args, args...)
	return s.Write(sql)
}

// Int adds a number.
func (s *Statement) Int(n int64) *Statement {
	s.sql = strconv.AppendInt(s.sql, n, 10)
	return s
}

// Uint adds a number without a sign.
func (s *Statement) Uint(n uint64) *Statement {
	s.sql = strconv.AppendUint(s.sql, n, 10)
	return s
}

// Ints adds numbers with commas in between.
func (s *Statement) Ints(numbers ...int64) *Statement {
	for i, n := range numbers {
		if i > 0 {
			s.sql = append(s.sql, ',')
		}
		s.Int(n)
	}
	return s
}

// Text adds a text. Bytes that are no UTF-8 are replaced, as the server would
// refuse them.
func (s *Statement) Text(text string) *Statement {
	if text == "" {
		return s.Write("''")
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	s.sql = append(s.sql, '?')
	s.args = append(s.args, text)
	s.size += len(text) + len(text)/8
	return s
}

// Blob adds bytes; no bytes are an empty value, not NULL.
func (s *Statement) Blob(b []byte) *Statement {
	if len(b) == 0 {
		return s.Write("''")
	}
	s.sql = append(s.sql, '?')
	s.args = append(s.args, b)
	s.size += len(b) + len(b)/8 + len("_binary''")
	return s
}

// Hash adds a hash.
func (s *Statement) Hash(h Hash) *Statement {
	s.sql = append(s.sql, "X'"...)
	s.sql = hex.AppendEncode(s.sql, h[:])
	s.sql = append(s.sql, '\'')
	return s
}

// Time adds an instant.
func (s *Statement) Time(t time.Time) *Statement { return s.Int(Micros(t)) }

// Case adds a CASE that chooses a value by the column id; value writes the
// i-th.
func (s *Statement) Case(ids []int64, value func(i int)) *Statement {
	s.Write("CASE id")
	for i, id := range ids {
		s.Write(" WHEN ").Int(id).Write(" THEN ")
		value(i)
	}
	return s.Write(" END")
}

// CaseInt is Case with numbers. Numbers that are all the same need no CASE.
func (s *Statement) CaseInt(ids []int64, value func(i int) int64) *Statement {
	same := true
	for i := range ids {
		same = same && value(i) == value(0)
	}
	if same {
		return s.Int(value(0))
	}
	return s.Case(ids, func(i int) { s.Int(value(i)) })
}

// Append adds another statement.
func (s *Statement) Append(other *Statement) {
	s.sql = append(s.sql, other.sql...)
	s.args = append(s.args, other.args...)
	s.size += other.size
}

// Len is about how long the statement is on the wire.
func (s *Statement) Len() int { return len(s.sql) + s.size }

// Exec runs the statement.
func (s *Statement) Exec(ctx context.Context, q Querier) (sql.Result, error) {
	return q.ExecContext(ctx, string(s.sql), s.args...)
}

// Query runs the statement and calls each for every row.
func (s *Statement) Query(ctx context.Context, q Querier, each func(*sql.Rows) error) error {
	return Query(ctx, q, each, string(s.sql), s.args...)
}
