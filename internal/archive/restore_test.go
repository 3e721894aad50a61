package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// randomValues are values of about a week.
func randomValues(r *rand.Rand, n int) []refresh.Value {
	values := make([]refresh.Value, n)
	for i := range values {
		body := make([]byte, r.IntN(3000))
		for j := range body {
			body[j] = byte(r.Uint32())
		}
		if r.IntN(2) == 0 {
			body = fmt.Appendf(nil, `{"a":%d,"b":"%x"}`, r.IntN(9), body)
		}
		source := []string{"game", "g/ä %", "..", "x~y", "a:b."}[r.IntN(5)]
		at := start.Add(time.Duration(r.IntN(7*24*60)) * time.Minute).Add(time.Duration(r.IntN(3)) * time.Microsecond)
		values[i] = value(source, fmt.Sprintf("k/%d", r.IntN(20)), i+1, at, string(body))
	}
	return values
}

func randomQuery(r *rand.Rand) (q Query) {
	if r.IntN(2) == 0 {
		q.Source = []string{"game", "g/ä %", "..", "x~y", "a:b."}[r.IntN(5)]
		if r.IntN(2) == 0 {
			q.Key = fmt.Sprintf("k/%d", r.IntN(25))
		}
	}
	if r.IntN(2) == 0 {
		q.Since = start.Add(time.Duration(r.IntN(7*24)) * time.Hour)
	}
	if r.IntN(2) == 0 {
		q.Until = start.Add(time.Duration(1+r.IntN(7*24)) * time.Hour)
		if !q.Since.IsZero() {
			q.Until = q.Since.Add(time.Duration(1+r.IntN(36)) * time.Hour)
		}
	}
	return q
}

// TestWhatIsRestoredIsWhatWasArchived, for values and queries of all kinds, and
// with files in both places.
func TestWhatIsRestoredIsWhatWasArchived(t *testing.T) {
	eachBucket(t, func(t *testing.T, open opener) {
		r := seeded(t)
		for range 2 {
			values := randomValues(r, 1+r.IntN(300))
			w := newWorld(t, open(t), Options{Page: 1 + r.IntN(100), ChunkBytes: 1 + r.IntN(500_000)}, values...)
			_, err := w.Archive(t.Context(), far)
			w.ok(err)
			_, err = w.Cool(t.Context(), start.Add(time.Duration(r.IntN(7*24))*time.Hour))
			w.ok(err)
			w.archivedOnce(values)
			for range 10 {
				q := randomQuery(r)
				restored := newMemory()
				w.Archiver.history = restored
				n, err := w.Restore(t.Context(), q)
				w.ok(err)
				var expected, got []refresh.Value
				for i := range values {
					if q.wants(&values[i]) {
						expected = append(expected, values[i])
					}
				}
				for _, v := range restored.rows {
					got = append(got, v)
				}
				if int(n) != len(expected) {
					t.Fatalf("%+v restored %d values instead of %d", q, n, len(expected))
				}
				sameValues(t, got, expected)
			}
		}
	})
}

func TestExportWritesLines(t *testing.T) {
	eachBucket(t, func(t *testing.T, open opener) {
		values := []refresh.Value{
			value("s", "a", 1, start, `{"x":"<1>"}`), value("s", "b", 2, start, "\xff\x00"), value("s", "c", 3, start.Add(3*day), "null"),
		}
		w := newWorld(t, open(t), Options{}, values...)
		_, err := w.Archive(t.Context(), far)
		w.ok(err)
		var out bytes.Buffer
		n, err := w.Export(t.Context(), Query{Until: start.Add(day)}, &out)
		w.ok(err)
		lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
		if n != 2 || len(lines) != 2 {
			t.Fatalf("exported %d values: %s", n, out.Bytes())
		}
		want := fmt.Sprintf(`{"source":"s","key":"a","version":1,"stored_at":"2026-10-16T00:00:00Z","hash":"%x","body":{"x":"<1>"}}`, values[0].Hash)
		if string(lines[0]) != want {
			t.Errorf("got %s\nwant %s", lines[0], want)
		}
		var second line
		w.ok(json.Unmarshal(lines[1], &second))
		if !bytes.Equal(second.Bytes, values[1].Body) || second.Body != nil {
			t.Errorf("got %s", lines[1])
		}
	})
}

// counting counts what is read.
type counting struct {
	Files
	whole, tails, bytes int
}

func (s *counting) Read(ctx context.Context, key string) ([]byte, error) {
	s.whole++
	return s.Files.Read(ctx, key)
}

func (s *counting) ReadTail(ctx context.Context, key string, size, n int64) ([]byte, error) {
	data, err := s.Files.ReadTail(ctx, key, size, n)
	s.tails++
	s.bytes += len(data)
	return data, err
}

// TestAnEntityIsFoundByTheEndsOfFiles: files without it are not read whole.
func TestAnEntityIsFoundByTheEndsOfFiles(t *testing.T) {
	eachBucket(t, func(t *testing.T, open opener) {
		r := seeded(t)
		noise := make([]byte, 3000)
		var values []refresh.Value
		for d := range 4 {
			for i := range 300 {
				for j := range noise {
					noise[j] = byte(r.Uint32())
				}
				values = append(values, value("s", fmt.Sprintf("key-%d-%d", d, i), 1, start.Add(time.Duration(d)*day), string(noise)))
			}
		}
		w := newWorld(t, open(t), Options{}, values...)
		_, err := w.Archive(t.Context(), far)
		w.ok(err)
		seen := &counting{Files: w.files}
		w.files = seen
		n, err := w.Restore(t.Context(), Query{Source: "s", Key: "key-2-7"})
		w.ok(err)
		if n != 1 || seen.tails != 4 || seen.bytes > 4*tailSize {
			t.Errorf("found %d values by %d ends of %d bytes", n, seen.tails, seen.bytes)
		}
		// A filter errs once in a hundred.
		if seen.whole < 1 || seen.whole > 2 {
			t.Errorf("%d files were read whole of 4", seen.whole)
		}
	})
}

func TestQueriesAreChecked(t *testing.T) {
	w := newWorld(t, inMemory(t), Options{})
	for _, q := range []Query{{Key: "k"}, {Since: start, Until: start}} {
		_, err := w.Restore(t.Context(), q)
		wantCode(t, err, domain.CodeInvalid)
		_, err = w.List(t.Context(), q)
		wantCode(t, err, domain.CodeInvalid)
		_, err = w.Verify(t.Context(), q)
		wantCode(t, err, domain.CodeInvalid)
	}
	_, _, err := Day("16.10.2026")
	wantCode(t, err, domain.CodeInvalid)
}
