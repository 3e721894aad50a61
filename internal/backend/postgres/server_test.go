package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/internal/backend/relational"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// open opens a database of tables.
func open(tb testing.TB, url string) *relational.DB {
	tb.Helper()
	return openWith(tb, Options{URL: url})
}

func openWith(tb testing.TB, o Options) *relational.DB {
	tb.Helper()
	db, err := Open(tb.Context(), o)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return db
}

// plain opens connections to an empty database, as database/sql has them.
func plain(tb testing.TB, url string) *sql.DB {
	tb.Helper()
	config, err := parseURL(url)
	if err != nil {
		tb.Fatalf("URL: %v", err)
	}
	sessions := config.Config.Copy()
	begin(sessions, working)
	pool := sql.OpenDB(connector{sessions})
	tb.Cleanup(func() { _ = pool.Close() })
	return pool
}

// checkValues sends values and compares what comes back, and what the server
// itself makes of them.
func checkValues(tb testing.TB, db *sql.DB, text string, b []byte, n int64) {
	tb.Helper()
	want := strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	var gotText string
	var gotBytes []byte
	var gotNumber, length, size, sum int64
	err := db.QueryRowContext(tb.Context(),
		"SELECT ?, ?, CAST(? AS BIGINT), octet_length(?), octet_length(?), 1000000000 -CAST(? AS NUMERIC) = 1000000000 - CAST(? AS NUMERIC), 7", text, b, n, text, b, n, n).
		Scan(&gotText, &gotBytes, &gotNumber, &length, &size, new(bool), &sum)
	if err != nil {
		tb.Fatalf("%q, %x, %d: %v", text, b, n, err)
	}
	if gotText != want || !bytes.Equal(gotBytes, b) || gotNumber != n || length != int64(len(want)) || size != int64(len(b)) || sum != 7 {
		tb.Errorf("%q came back as %q, %x as %x, %d as %d (%d and %d bytes)", text, gotText, b, gotBytes, n, gotNumber, length, size)
	}
}

// cruel are texts that somebody may hope to break out with.
var cruel = []string{
	"", "'", "''", `\`, `\'`, `'\`, `\\'`, "'; DROP TABLE job; --", "$$", "$1", "?", "--", "/*", "*/", `E'\''`, "X'00'", "\x00", "'\x00'", "a\x00'; SELECT 1",
	"\xbf'", "\xbf\\'", "\xe5'", "\xf0\x9f'", "\xf0\x9f\x98\x80", "\u2019", "\uFF07", "\u02BC", "\ufeff", "\u2028", "\r\n", "\t", "a\nb", "%s%d", "U&'\\0027'",
	`"`, "`", ";", ")", "') OR (1=1", "\U0010FFFF", "\xed\xa0\x80", "\xc0\xa7", "'\n'", "'||'", `\047`, `\x27`, "''' '''", strings.Repeat("'", 1001), strings.Repeat(`\'`, 5000),
}

func TestValuesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	db := plain(t, testkit.Postgres(t))
	for i, text := range cruel {
		checkValues(t, db, text, []byte(text), []int64{0, -1, 1, math.MinInt64, math.MaxInt64, math.MinInt32, math.MaxUint32}[i%7])
	}
	for n := range 256 {
		checkValues(t, db, string(rune(n)), []byte{byte(n)}, int64(n))
	}
	random := rand.New(rand.NewPCG(7, 11))
	rounds := 2000
	if testing.Short() {
		rounds = 300
	}
	for range rounds {
		var text strings.Builder
		for range random.IntN(20) {
			switch random.IntN(4) {
			case 0:
				text.WriteString(cruel[random.IntN(len(cruel)-1)])
			case 1:
				text.WriteByte(byte(random.IntN(256)))
			case 2:
				text.WriteRune(rune(random.IntN(utf8.MaxRune)))
			default:
				text.WriteByte(`'\"$?;-/*X`[random.IntN(10)])
			}
		}
		b := make([]byte, random.IntN(2000))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		checkValues(t, db, text.String(), b, int64(random.Uint64()))
	}
}

// FuzzValues: no text and no bytes become anything but a value.
func FuzzValues(f *testing.F) {
	for _, text := range cruel {
		f.Add(text, []byte(text), int64(len(text)))
	}
	db := plain(f, testkit.Postgres(f))
	f.Fuzz(func(t *testing.T, text string, b []byte, n int64) {
		if b == nil {
			b = []byte{}
		}
		checkValues(t, db, text, b, n)
	})
}

// TestColumnsOfEveryType that the tables have, and NULL in each.
func TestColumnsOfEveryType(t *testing.T) {
	t.Parallel()
	db := plain(t, testkit.Postgres(t))
	const all = `SELECT CAST(1 AS SMALLINT), 2, CAST(-3 AS BIGINT), true, false, 'text', CAST('v' AS VARCHAR(9)), X'00ff27',
		CAST(18446744073709551615 AS NUMERIC(20)), CAST(0.5 AS DOUBLE PRECISION), SUM(4), COUNT(*)`
	var small, integer, big, sum, count int64
	var yes, no bool
	var text, varying string
	var b []byte
	var unsigned uint64
	var float float64
	if err := db.QueryRowContext(t.Context(), all).Scan(&small, &integer, &big, &yes, &no, &text, &varying, &b, &unsigned, &float, &sum, &count); err != nil {
		t.Fatal(err)
	}
	if small != 1 || integer != 2 || big != -3 || !yes || no || text != "text" || varying != "v" || !bytes.Equal(b, []byte{0, 255, 39}) ||
		unsigned != math.MaxUint64 || float != 0.5 || sum != 4 || count != 1 {
		t.Errorf("got %d %d %d %v %v %q %q %x %d %v %d %d", small, integer, big, yes, no, text, varying, b, unsigned, float, sum, count)
	}
	var n sql.NullInt64
	var s sql.NullString
	var raw []byte
	var f sql.NullBool
	err := db.QueryRowContext(t.Context(), "SELECT CAST(NULL AS BIGINT), CAST(NULL AS TEXT), CAST(NULL AS BYTEA), CAST(NULL AS BOOLEAN)").Scan(&n, &s, &raw, &f)
	if err != nil || n.Valid || s.Valid || raw != nil || f.Valid {
		t.Errorf("NULL is %v %v %v %v (%v)", n, s, raw, f, err)
	}
	// What was scanned stays when the next row is read.
	rows, err := db.QueryContext(t.Context(), "SELECT decode(lpad(to_hex(n), 4, '0'), 'hex'), 'n' || n FROM generate_series(1, 300) AS n ORDER BY n")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var texts []string
	var many [][]byte
	for rows.Next() {
		var b []byte
		var s string
		if err := rows.Scan(&b, &s); err != nil {
			t.Fatal(err)
		}
		many, texts = append(many, b), append(texts, s)
	}
	if err := rows.Err(); err != nil || len(many) != 300 || texts[0] != "n1" || texts[299] != "n300" || !bytes.Equal(many[0], []byte{0, 1}) || !bytes.Equal(many[299], []byte{1, 44}) {
		t.Errorf("%d rows, %v", len(many), err)
	}
}

// TestLargeValues: the driver reads in the background while a long text is
// written, and may not have stopped when the connection is used again.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	db := plain(t, testkit.Postgres(t))
	db.SetMaxOpenConns(1)
	large := bytes.Repeat([]byte("'\\\x00\xff"), 4<<20)
	for range 3 {
		var size int
		if err := db.QueryRowContext(t.Context(), "SELECT octet_length(?)", large).Scan(&size); err != nil || size != len(large) {
			t.Fatalf("%d bytes of %d came, %v", size, len(large), err)
		}
		for range 3 {
			if err := db.QueryRowContext(t.Context(), "SELECT ?", 5).Scan(&size); err != nil || size != 5 {
				t.Fatalf("%d, %v", size, err)
			}
		}
	}
	var back []byte
	if err := db.QueryRowContext(t.Context(), "SELECT ?", large).Scan(&back); err != nil || !bytes.Equal(back, large) {
		t.Errorf("%d bytes come back, %v", len(back), err)
	}
}

// TestSession: what a session begins with.
func TestSession(t *testing.T) {
	t.Parallel()
	db := plain(t, testkit.Postgres(t))
	for name, want := range map[string]string{
		"application_name": "sluice", "TimeZone": "UTC", "standard_conforming_strings": "on", "lock_timeout": "1300ms",
		"idle_in_transaction_session_timeout": "5s", "idle_session_timeout": "4min", "statement_timeout": "1min",
		"default_transaction_isolation": "read committed", "client_encoding": "UTF8", "bytea_output": "hex",
	} {
		var got string
		if err := db.QueryRowContext(t.Context(), "SHOW "+name).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q (%v), want %q", name, got, err, want)
		}
	}
}

// TestChangedSessionIsGivenUp: nobody changes it, but if somebody did, no text
// would be sent.
func TestChangedSessionIsGivenUp(t *testing.T) {
	t.Parallel()
	db := plain(t, testkit.Postgres(t))
	db.SetMaxOpenConns(1)
	for _, setting := range []string{"standard_conforming_strings = off", "client_encoding = 'SJIS'"} {
		if _, err := db.ExecContext(t.Context(), "SET "+setting); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "SELECT ?", "text"); err == nil {
			t.Errorf("%s: a text is sent", setting)
		}
		var got string
		if err := db.QueryRowContext(t.Context(), "SELECT ?", "text").Scan(&got); err != nil || got != "text" {
			t.Errorf("%s: the next connection: %q, %v", setting, got, err)
		}
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://sluice:secret@db.example.com/state?sslmode=verify-full", "postgresql://db/state", "postgres://u@a:1,b:2/state?target_session_attrs=read-write",
		"postgres:///state?host=/run/postgresql", "postgres://u@[::1]:5433/state?search_path=sluice",
	} {
		if _, err := parseURL(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	config, err := parseURL("postgres://u:p%40ss@db:5433/state")
	if err != nil || config.Host != "db" || config.Port != 5433 || config.User != "u" || config.Password != "p@ss" || place(&config.Config) != "db:5433/state" {
		t.Errorf("understood as %+v (%v)", config, err)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"14.0": true, "15.18 (Debian 15.18-0+deb12u1)": true, "18beta1": true, "100.1": true, "13.22": false, "9.6.24": false, "": false, "x": false,
	} {
		if err := checkVersion(text); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "14 or newer") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// count asks for a number.
func count(ctx context.Context, tb testing.TB, db *relational.DB, query string, args ...any) (n int64) {
	tb.Helper()
	if err := db.Query(ctx, func(r *sql.Rows) error { return r.Scan(&n) }, query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return n
}
