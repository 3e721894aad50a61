package postgres

import (
	"database/sql/driver"
	"math"
	"strings"
	"testing"
)

func named(values ...driver.Value) []driver.NamedValue {
	args := make([]driver.NamedValue, len(values))
	for i, v := range values {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return args
}

func TestInterpolate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query string
		args  []driver.Value
		want  string
	}{
		{"SELECT 1", nil, "SELECT 1"},
		{"SELECT ?", []driver.Value{int64(5)}, "SELECT  5 "},
		{"SELECT 1 -?", []driver.Value{int64(-5)}, "SELECT 1 - (-5) "},
		{"SELECT ?", []driver.Value{int64(math.MinInt64)}, "SELECT  '-9223372036854775808'::bigint "},
		{"SELECT ?", []driver.Value{"it's"}, "SELECT  'it''s' "},
		{"SELECT ?", []driver.Value{`\'`}, `SELECT  '\''' `},
		{"SELECT ?", []driver.Value{"a\x00b"}, "SELECT  'a\uFFFDb' "},
		{"SELECT ?", []driver.Value{"a\xffb"}, "SELECT  'a\uFFFDb' "},
		{"SELECT E?", []driver.Value{`\'; DROP TABLE job; --`}, `SELECT E '\''; DROP TABLE job; --' `},
		{"SELECT ?, ?", []driver.Value{"?", "$1"}, "SELECT  '?' ,  '$1' "},
		{"SELECT ?", []driver.Value{[]byte{0, 0xab}}, `SELECT  '\x00ab'::bytea `},
		{"SELECT ?", []driver.Value{[]byte{}}, `SELECT  '\x'::bytea `},
		{"SELECT ?", []driver.Value{[]byte(nil)}, `SELECT  NULL `},
		{"SELECT ?", []driver.Value{nil}, `SELECT  NULL `},
		{"SELECT ?, ?", []driver.Value{true, false}, `SELECT  1 ,  0 `},
		{"SELECT ?", []driver.Value{math.NaN()}, `SELECT  'NaN'::float8 `},
		{"SELECT X'00aB', x''", nil, `SELECT  '\x00aB'::bytea ,  '\x'::bytea `},
		{"SELECT 'a?''?', \"b?\", ? /* it's ? */ + 1", []driver.Value{int64(1)}, "SELECT 'a?''?', \"b?\",  1  /* it's ? */ + 1"},
		{"SELECT 'X''ab'", nil, "SELECT 'X''ab'"},
		{"UPDATE a SET b = ?; UPDATE c SET d = ?", []driver.Value{"1; x", int64(2)}, "UPDATE a SET b =  '1; x' ; UPDATE c SET d =  2 "},
		{"SELECT 4 / 2 - 1", nil, "SELECT 4 / 2 - 1"},
	} {
		var b strings.Builder
		if err := interpolate(&b, c.query, named(c.args...)); err != nil || b.String() != c.want {
			t.Errorf("%q with %q is %q (%v), want %q", c.query, c.args, b.String(), err, c.want)
		}
	}
}

// TestInterpolateRefuses what it does not understand to the letter.
func TestInterpolateRefuses(t *testing.T) {
	t.Parallel()
	for query, args := range map[string][]driver.Value{
		"SELECT ?":                     nil,
		"SELECT 1":                     {int64(1)},
		"SELECT '?'":                   {int64(1)},
		"SELECT 'a":                    nil,
		"SELECT \"a":                   nil,
		"SELECT 1 -- ?":                {int64(1)},
		"SELECT 1 /* ?":                {int64(1)},
		"SELECT 1 /* /* ? */ */":       {int64(1)},
		"SELECT $1":                    nil,
		"SELECT $$?$$":                 nil,
		`SELECT E'\''`:                 nil,
		`SELECT U&'d\0061t'`:           nil,
		"SELECT B'01'":                 nil,
		"SELECT X'0'":                  nil,
		"SELECT X'0g'":                 nil,
		"SELECT aX'00'":                nil,
		"SELECT 1\x00":                 nil,
		"SELECT '\x00'":                nil,
		"SELECT /* \x00 */ 1":          nil,
		"SELECT ? + 1":                 {struct{}{}},
		"SELECT ?\x00":                 {int64(1)},
		"SELECT 'a' 'b' || ? || 'c' '": {"x"},
	} {
		var b strings.Builder
		if err := interpolate(&b, query, named(args...)); err == nil {
			t.Errorf("%q with %v is taken: %q", query, args, b.String())
		}
	}
}
