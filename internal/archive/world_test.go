package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

var start = time.Date(2026, 10, 16, 0, 0, 0, 0, time.UTC)

// memory is a history whose cursors are as those of the stores: a listing is
// about what was there when it began.
type memory struct {
	rows map[int64]refresh.Value
	seq  int64
}

func newMemory(values ...refresh.Value) *memory {
	m := &memory{rows: map[int64]refresh.Value{}}
	_ = m.Restore(context.Background(), values)
	return m
}

func (m *memory) sorted(upTo int64) []int64 {
	seqs := slices.DeleteFunc(slices.Collect(maps.Keys(m.rows)), func(s int64) bool { return s > upTo })
	slices.SortFunc(seqs, func(x, y int64) int {
		return cmp.Or(m.rows[x].StoredAt.Compare(m.rows[y].StoredAt), cmp.Compare(x, y))
	})
	return seqs
}

func (m *memory) Values(_ context.Context, before time.Time, after string, limit int) (values []refresh.Value, last string, err error) {
	at, seq, upTo := int64(-1<<62), int64(0), m.seq
	if after != "" {
		if _, err := fmt.Sscanf(after, "%d.%d.%d", &at, &seq, &upTo); err != nil {
			return nil, "", err
		}
	}
	last = after
	for _, s := range m.sorted(upTo) {
		v := m.rows[s]
		stored := v.StoredAt.UnixMicro()
		if stored < at || stored == at && s <= seq || !v.StoredAt.Before(before) || len(values) == limit {
			continue
		}
		values, last = append(values, v), fmt.Sprintf("%d.%d.%d", stored, s, upTo)
	}
	return values, last, nil
}

func (m *memory) Forget(_ context.Context, cursor string) (n int, err error) {
	var at, seq, upTo int64
	if _, err := fmt.Sscanf(cursor, "%d.%d.%d", &at, &seq, &upTo); err != nil {
		return 0, err
	}
	for _, s := range m.sorted(upTo) {
		if stored := m.rows[s].StoredAt.UnixMicro(); stored < at || stored == at && s <= seq {
			delete(m.rows, s)
			n++
		}
	}
	return n, nil
}

func (m *memory) Restore(_ context.Context, values []refresh.Value) error {
	there := map[identity]bool{}
	for _, v := range m.rows {
		r := rowOf(&v)
		there[r.identity()] = true
	}
	for _, v := range values {
		r := rowOf(&v)
		if !there[r.identity()] {
			m.seq++
			m.rows[m.seq] = v
			there[r.identity()] = true
		}
	}
	return nil
}

var errCrash = domain.Errorf(domain.CodeUnavailable, "crashed")

// crash makes every call fail from a certain one on. Whether that one has taken
// effect or not is what late says.
type crash struct {
	left int
	late bool
}

func (c *crash) call(f func() error) error {
	c.left--
	if c.left > 0 {
		return f()
	}
	if c.left == 0 && c.late {
		_ = f()
	}
	return errCrash
}

// happened tells whether a call failed.
func (c *crash) happened() bool { return c.left <= 0 }

type crashingHistory struct {
	refresh.History
	*crash
}

func (h crashingHistory) Values(ctx context.Context, before time.Time, after string, limit int) (values []refresh.Value, last string, err error) {
	err = h.call(func() (err error) {
		values, last, err = h.History.Values(ctx, before, after, limit)
		return err
	})
	return values, last, err
}

func (h crashingHistory) Forget(ctx context.Context, upTo string) (n int, err error) {
	err = h.call(func() (err error) {
		n, err = h.History.Forget(ctx, upTo)
		return err
	})
	return n, err
}

func (h crashingHistory) Restore(ctx context.Context, values []refresh.Value) error {
	return h.call(func() error { return h.History.Restore(ctx, values) })
}

type crashingStorage struct {
	Files
	*crash
}

func (s crashingStorage) Write(ctx context.Context, key string, data []byte) error {
	return s.call(func() error { return s.Files.Write(ctx, key, data) })
}

func (s crashingStorage) Read(ctx context.Context, key string) (data []byte, err error) {
	err = s.call(func() (err error) {
		data, err = s.Files.Read(ctx, key)
		return err
	})
	return data, err
}

func (s crashingStorage) Remove(ctx context.Context, key string) error {
	return s.call(func() error { return s.Files.Remove(ctx, key) })
}

func (s crashingStorage) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	if err := s.call(func() error { return nil }); err != nil {
		return func(yield func(Object, error) bool) { yield(Object{}, err) }
	}
	return s.Files.List(ctx, prefix)
}

// value makes the n-th value of an entity.
func value(source, key string, n int, at time.Time, body string) refresh.Value {
	return refresh.Value{
		Entity: refresh.Entity{Source: source, Key: key}, Version: int64(n), StoredAt: at,
		Body: []byte(body), Hash: sha256.Sum256([]byte(body)),
	}
}

// someValues are values of three days and three sources.
func someValues(n int) []refresh.Value {
	values := make([]refresh.Value, n)
	for i := range values {
		at := start.Add(time.Duration(i/2) * 5 * time.Hour)
		values[i] = value([]string{"game", "game", "a/b=c"}[i%3], fmt.Sprintf("key-%d", i%4), i+1, at, fmt.Sprintf(`{"level":%d}`, i))
	}
	return values
}

// world is a history and an archive of it.
type world struct {
	testing.TB
	*Archiver
	history *memory
	bucket  Files
}

// The adapters that tests use know this package, so that they are handed in from
// beside it (main_test.go).
var (
	Open     func(ctx context.Context, place string) (Files, error)
	StartS3  func(testing.TB) (place string)
	InMemory func() Files
)

// opener opens an empty bucket.
type opener func(testing.TB) Files

// buckets are what archives are tested in.
var buckets = map[string]opener{
	"folder": func(t testing.TB) Files { return opened(t, t.TempDir()+"/new/archive") },
	"s3":     func(t testing.TB) Files { return opened(t, StartS3(t)) },
}

// inMemory is for what has nothing to do with the bucket.
func inMemory(testing.TB) Files { return InMemory() }

func opened(t testing.TB, place string) Files {
	t.Helper()
	files, err := Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func newWorld(t testing.TB, bucket Files, o Options, values ...refresh.Value) *world {
	t.Helper()
	history := newMemory(values...)
	a, err := New(history, bucket, o)
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, a, history, bucket}
}

// ok fails the test at an error.
func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// damage changes what a file holds.
func (w *world) damage(key string, change func([]byte) []byte) {
	w.Helper()
	data, err := w.bucket.Read(w.Context(), key)
	w.ok(err)
	w.ok(w.bucket.Write(w.Context(), key, change(data)))
}

// places counts for every value in how many files it is, by their names without
// the prefix, and whether it is in the store.
func (w *world) places() (archived, stored map[identity]int) {
	w.Helper()
	archived, stored = map[identity]int{}, map[identity]int{}
	err := w.scan(w.Context(), "", func(f File) error {
		_, err := w.read(w.Context(), f, func(r *row) error {
			archived[r.identity()]++
			return nil
		})
		return err
	})
	w.ok(err)
	for _, v := range w.history.rows {
		r := rowOf(&v)
		stored[r.identity()]++
	}
	return archived, stored
}

// somewhere checks that no value is lost, and that none is in two files.
func (w *world) somewhere(values []refresh.Value) {
	w.Helper()
	archived, stored := w.places()
	for i := range values {
		r := rowOf(&values[i])
		if n := archived[r.identity()]; n > 1 || n+stored[r.identity()] == 0 {
			w.Fatalf("value %d is in %d files and %d times in the store", i, n, stored[r.identity()])
		}
	}
}

// archivedOnce checks that values are in one file each and not in the store, and
// that nothing else is archived.
func (w *world) archivedOnce(values []refresh.Value) {
	w.Helper()
	archived, stored := w.places()
	for i := range values {
		r := rowOf(&values[i])
		if archived[r.identity()] != 1 || stored[r.identity()] != 0 {
			w.Fatalf("value %d is in %d files and %d times in the store; it should be in one file alone", i, archived[r.identity()], stored[r.identity()])
		}
	}
	if len(archived) != len(values) {
		w.Fatalf("%d values are archived instead of %d", len(archived), len(values))
	}
}

// wantCode fails the test unless an error has a code.
func wantCode(t testing.TB, err error, code domain.Code) {
	t.Helper()
	if err == nil || domain.CodeOf(err) != code {
		t.Fatalf("the error is %v; want one of code %s", err, code)
	}
}

// sameValues compares values regardless of their order.
func sameValues(t testing.TB, got, expected []refresh.Value) {
	t.Helper()
	rows := func(values []refresh.Value) (rows []row) {
		for i := range values {
			rows = append(rows, rowOf(&values[i]))
		}
		slices.SortFunc(rows, func(x, y row) int { return cmp.Or(cmp.Compare(x.Source, y.Source), compareRows(x, y)) })
		return rows
	}
	x, y := rows(got), rows(expected)
	if !slices.EqualFunc(x, y, func(a, b row) bool { return equalRows(&a, &b) }) {
		t.Fatalf("got %d values that differ from the %d that were expected", len(got), len(expected))
	}
}

// seeded returns random numbers that can be had again.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, 1))
}

// isCrash tells whether an error is that of a crash.
func isCrash(err error) bool { return errors.Is(err, errCrash) }
