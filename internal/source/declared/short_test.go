package declared_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source/declared"
)

// capped is an upstream that gives ten records a page, whatever it is asked for.
type capped struct {
	records int
	// beyond is how it answers behind its last page; 200 with an empty list by default.
	beyond int
	asked  int
}

func (u *capped) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.asked++
	q := r.URL.Query()
	number := func(name string, none int) int {
		if n, err := strconv.Atoi(q.Get(name)); err == nil {
			return n
		}
		return none
	}
	from := number("offset", (number("page", 1)-1)*10)
	if after := number("after", 0); after > 0 {
		from = after
	}
	next := ""
	if token := number("token", -1); r.URL.Path == "/cursor" {
		// Every other page has no records, and names the next one.
		from = max(token, 0) / 2 * 10
		if max(token, 0)%2 == 1 {
			from = u.records
		}
		if token < u.records/10*2 {
			next = strconv.Itoa(max(token, 0) + 1)
		}
	}
	all := []map[string]int{}
	for id := from + 1; id <= min(from+10, u.records); id++ {
		all = append(all, map[string]int{"id": id})
	}
	if len(all) == 0 && u.beyond != 0 && r.URL.Path != "/cursor" {
		w.WriteHeader(u.beyond)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": all, "total": u.records, "next": next})
}

// TestSmallerPagesThanAskedFor: an upstream that gives fewer records than it is asked
// for loses none, and nothing is said to be gone that is there.
func TestSmallerPagesThanAskedFor(t *testing.T) {
	for name, page := range map[string]string{
		"/page": "{type: page, param: page, size: {n: 20}}", "/pages": "{type: page, param: page, size: {n: 20}, total: total}",
		"/offset": "{type: offset, param: offset, size: {n: 20}}", "/offsets": "{type: offset, param: offset, size: {n: 20}, total: total}",
		"/keyset": "{type: keyset, param: after, size: {n: 20}}", "/cursor": "{type: cursor, param: token, next: next}",
	} {
		for _, beyond := range []int{0, http.StatusNotFound, http.StatusUnprocessableEntity} {
			t.Run(fmt.Sprint(name, beyond), func(t *testing.T) {
				u := &capped{records: 95, beyond: beyond}
				server := httptest.NewServer(u)
				t.Cleanup(server.Close)
				d := &driver{
					t: t, file: load(t, head+"\n  items: {get: "+name+", page: "+page+", records: data, key: id}\n"), now: time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC),
					cursors: map[string]time.Time{}, stored: map[string]domain.Page{}, docs: map[document.Key]document.Document{}, gone: map[document.Key]bool{},
				}
				var err error
				if d.src, err = declared.New(d.file, declared.Options{Base: server.URL, Now: func() time.Time { return d.now }}); err != nil {
					t.Fatal(err)
				}
				for run := range 3 {
					d.run()
					if len(d.docs) != 95 || len(d.gone) > 0 || len(d.failures) > 0 {
						t.Fatalf("run %d: %d records, gone %v, failures %v; %d calls", run, len(d.docs), slices.Collect(maps.Keys(d.gone)), d.failures, u.asked)
					}
				}
			})
		}
	}
}
