package declared_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	sim "sluice/internal/simulator/declared"
)

// TestAudit: a call beyond a ration of any shape is refused and noted, and one that
// comes when there is room again is not.
func TestAudit(t *testing.T) {
	for shape, waits := range map[string]time.Duration{"fixed": 10 * time.Second, "sliding": 10 * time.Second, "bucket": 5 * time.Second} {
		t.Run(shape, func(t *testing.T) {
			now := time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)
			server, err := sim.New(sim.Spec{
				Auths:   []sim.Auth{{Header: "X-Key"}},
				Streams: []sim.Stream{{Name: "items", Key: "id", Routes: []sim.Route{{Method: http.MethodGet, Path: "/items"}}}},
				Rations: []sim.Ration{{Name: "few", PerKey: true, Calls: 2, Every: 10 * time.Second, Shape: shape, Remaining: sim.Place{Header: "X-Left"}}},
			}, sim.Options{Now: func() time.Time { return now }})
			if err != nil {
				t.Fatal(err)
			}
			call := func(key string) (int, http.Header) {
				r := httptest.NewRequest(http.MethodGet, "/items", http.NoBody)
				if key != "" {
					r.Header.Set("X-Key", key)
				}
				w := httptest.NewRecorder()
				server.ServeHTTP(w, r)
				return w.Code, w.Header()
			}
			for i, want := range []int{200, 200, 429} {
				status, header := call("a")
				if status != want || i == 0 && header.Get("X-Left") != "1" || want == 429 && header.Get("Retry-After") == "" {
					t.Errorf("call %d is answered %d, %v", i+1, status, header)
				}
			}
			if status, _ := call("b"); status != 200 {
				t.Errorf("another credential is answered %d", status)
			}
			now = now.Add(waits)
			if status, _ := call("a"); status != 200 {
				t.Errorf("after %s it is answered %d", waits, status)
			}
			if status, _ := call(""); status != 401 {
				t.Errorf("nobody is answered %d", status)
			}
			if a := server.Audit(); a.Beyond["few"] != 1 || a.Calls != 6 || a.Anonymous != 1 {
				t.Errorf("%+v", a)
			}
		})
	}
}

// TestTruth: what changes, comes and goes is in the truth, and orders are followed.
func TestTruth(t *testing.T) {
	server, err := sim.New(sim.Spec{Streams: []sim.Stream{
		{Name: "a", Key: "id", Routes: []sim.Route{{Method: http.MethodGet, Path: "/a"}}},
		{Name: "b", Parent: "a", Key: "id", Routes: []sim.Route{{Method: http.MethodGet, Path: "/a/{parent.id}/b"}}},
	}}, sim.Options{Records: 9})
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) (int, []map[string]any) {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		var all []map[string]any
		_ = json.Unmarshal(w.Body.Bytes(), &all)
		return w.Code, all
	}
	server.Mutate(sim.Mutation{Change: 5, Add: 3, Remove: 20})
	truth := server.Truth()
	if _, all := get("/a"); len(all) != len(truth.Records["a"]) || len(truth.Gone["a"])+len(truth.Gone["b"]) == 0 {
		t.Errorf("it shows %d of %d, and %v are gone", len(all), len(truth.Records["a"]), truth.Gone)
	}
	for _, gone := range truth.Gone["a"] {
		if status, _ := get("/a/" + gone + "/b"); status != http.StatusNotFound {
			t.Errorf("what belonged to %s is answered %d", gone, status)
		}
	}
	server.Order(sim.Order{Do: "503", Times: 1})
	if status, _ := get("/a"); status != 503 {
		t.Errorf("an order is answered %d", status)
	}
	if status, _ := get("/nowhere"); status != 404 || len(server.Audit().Unknown) != 1 {
		t.Errorf("an unknown address is answered %d: %+v", status, server.Audit())
	}
}
