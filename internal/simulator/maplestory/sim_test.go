package maplestory

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

// testWorld is a server whose clock the test moves.
type testWorld struct {
	*Server
	now time.Time
}

func newTestWorld(o Options) *testWorld {
	w := &testWorld{now: time.Date(2026, 3, 4, 12, 0, 0, 0, korea)}
	o.Now = func() time.Time { return w.now }
	w.Server = New(o)
	return w
}

type reply struct {
	status int
	body   string
}

func get(s http.Handler, key, target string) reply {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	if key != "" {
		r.Header.Set("x-nxopen-api-key", key)
	}
	return do(s, r)
}

func do(s http.Handler, r *http.Request) reply {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return reply{w.Code, w.Body.String()}
}

func post(s http.Handler, target string) reply {
	return do(s, httptest.NewRequest(http.MethodPost, target, nil))
}

func (w *testWorld) get(target string) reply { return get(w, DefaultKey, target) }

func partPath(p part, ocid string) string {
	return "/maplestory/v1/character/" + partNames[p] + "?ocid=" + ocid
}

func TestSizes(t *testing.T) {
	s := newTestWorld(Options{Seed: 7})
	for i := range 20 {
		ocid := s.Ocid(i)
		body := s.get(partPath(itemEquipment, ocid)).body
		truth, ok := s.Truth(ocid, time.Time{})
		if !ok || len(body) < 280_000 || len(body) > 320_000 || len(truth.Value) < 15_000 || len(truth.Value) > 19_000 {
			t.Errorf("character %d: a body of %d bytes, of which %d are kept; about 300,000 and 17,000 are wanted", i, len(body), len(truth.Value))
		}
	}
}

func TestSmallBodies(t *testing.T) {
	for _, size := range []int{1, 12_000, 50_000, 600_000} {
		s := newTestWorld(Options{BodySize: size})
		body := s.get(partPath(itemEquipment, s.Ocid(0))).body
		if !json.Valid([]byte(body)) || size > 12_000 && (len(body) < size*9/10 || len(body) > size*11/10) {
			t.Errorf("%d bytes instead of %d", len(body), size)
		}
	}
}

func TestTheSameWorldTwice(t *testing.T) {
	o := Options{Seed: 11, ChangeEvery: time.Minute, RenewEvery: time.Hour, BodySize: 20_000}
	a, b := newTestWorld(o), newTestWorld(o)
	o.Seed++
	other := newTestWorld(o)
	for i := range 5 {
		for p := range parts {
			path := partPath(p, a.Ocid(i))
			if a.get(path) != b.get(path) {
				t.Errorf("%s differs between two worlds of one seed", path)
			}
		}
		if a.Ocid(i) == other.Ocid(i) {
			t.Errorf("character %d has the same ocid in another world", i)
		}
	}
}

func TestEveryPartIsValidAndChanges(t *testing.T) {
	s := newTestWorld(Options{Limits: Limits{PerSecond: -1}, BodySize: 40_000})
	for p := range parts {
		key := partNames[p] + ":" + s.Ocid(2)
		seen := map[[32]byte]bool{}
		for change := range 60 {
			body := s.get(partPath(p, s.Ocid(2)))
			truth, ok := s.Truth(key, time.Time{})
			if body.status != http.StatusOK || !json.Valid([]byte(body.body)) || !ok || truth.Change != uint64(change) {
				t.Fatalf("%s: %d, change %d of %d, %.100s", key, body.status, truth.Change, change, body.body)
			}
			if seen[truth.Hash] {
				t.Errorf("%s is after %d changes as it was before", key, change)
			}
			seen[truth.Hash] = true
			// What is put together from pieces is what the plain way leads to.
			if plain := canonical([]byte(body.body), keptOf[p]); string(plain) != string(truth.Value) {
				t.Fatalf("%s: the truth is %.200s, the plain way leads to %.200s", key, truth.Value, plain)
			}
			if !s.Change(key) {
				t.Fatal("not changed")
			}
		}
	}
}

func TestTruthOfAnEarlierInstant(t *testing.T) {
	s := newTestWorld(Options{ChangeEvery: time.Hour, BodySize: 20_000})
	start, ocid := s.now, s.Ocid(4)
	before, _ := s.Truth(ocid, time.Time{})
	s.now = s.now.Add(30 * time.Second)
	s.Change(ocid)
	changed, _ := s.Truth(ocid, time.Time{})
	s.now = s.now.Add(10 * time.Hour)
	later, _ := s.Truth(ocid, time.Time{})
	if changed.Change < before.Change+1 || later.Change != changed.Change+10 {
		t.Errorf("changes: %d, %d, %d", before.Change, changed.Change, later.Change)
	}
	if again, _ := s.Truth(ocid, start); again.Hash != before.Hash {
		t.Error("the past has changed")
	}
	if again, _ := s.Truth(ocid, start.Add(30*time.Second)); again.Hash != changed.Hash {
		t.Error("the past after the change has changed")
	}
}

func TestOnlyAShareChanges(t *testing.T) {
	s := newTestWorld(Options{Characters: 2_000, ChangeEvery: time.Hour, ChangeRate: 0.25})
	changing := 0
	for i := range 2_000 {
		if s.world.changeCount(basic, i, s.now) != s.world.changeCount(basic, i, s.now.Add(time.Hour)) {
			changing++
		}
	}
	if changing < 400 || changing > 600 {
		t.Errorf("%d of 2,000 change; 500 are wanted", changing)
	}
}

func TestNamesAndOcids(t *testing.T) {
	s := newTestWorld(Options{Seed: 3, Characters: 50})
	all := s.Characters(0, 1_000)
	if len(all) != 50 || len(s.Characters(48, 10)) != 2 {
		t.Fatalf("%d characters", len(all))
	}
	seen := map[string]bool{}
	for i, c := range all {
		if seen[c.Name] || seen[c.Ocid] || c.Ocid != s.Ocid(i) {
			t.Errorf("character %d: %+v", i, c)
		}
		seen[c.Name], seen[c.Ocid] = true, true
		got := s.get("/maplestory/v1/id?character_name=" + url.QueryEscape(c.Name))
		if want := `{"ocid":"` + c.Ocid + `"}`; got.body != want {
			t.Errorf("%s: %+v", c.Name, got)
		}
	}
	old := all[7].Ocid
	if !s.Renew(old) || s.Ocid(7) == old || s.Renew(old) {
		t.Error("the ocid was not renewed once")
	}
	if got := s.get(partPath(basic, old)); got.body != InvalidIdentifier.Body() {
		t.Errorf("the old ocid answers %+v", got)
	}
	if got := s.get(partPath(basic, s.Ocid(7))); got.status != http.StatusOK {
		t.Errorf("the new ocid answers %+v", got)
	}

	renewing := newTestWorld(Options{RenewEvery: 24 * time.Hour})
	before := renewing.Ocid(1)
	renewing.now = renewing.now.Add(24 * time.Hour)
	if renewing.Ocid(1) == before {
		t.Error("the ocid did not change with time")
	}
}
