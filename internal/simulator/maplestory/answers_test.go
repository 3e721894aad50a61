package maplestory

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestErrors(t *testing.T) {
	s := newTestWorld(Options{BodySize: 10_000, Keys: []string{DefaultKey, "bad"}})
	ocid := s.Ocid(0)
	s.Forbid("bad", true)
	for _, c := range []struct {
		name, key, target string
		want              Code
	}{
		{"fine", DefaultKey, partPath(basic, ocid), OK},
		{"no key", "", partPath(basic, ocid), InvalidKey},
		{"wrong key", "x", partPath(basic, ocid), InvalidKey},
		{"forbidden key", "bad", partPath(basic, ocid), Forbidden},
		{"no ocid", DefaultKey, "/maplestory/v1/character/basic", InvalidParameter},
		{"unknown ocid", DefaultKey, partPath(basic, "x"), InvalidIdentifier},
		{"forged ocid", DefaultKey, partPath(basic, ocid[:63]+flip(ocid[63])), InvalidIdentifier},
		{"unknown name", DefaultKey, "/maplestory/v1/id?character_name=x1", InvalidParameter},
		{"no name", DefaultKey, "/maplestory/v1/id", InvalidParameter},
		{"unknown part", DefaultKey, "/maplestory/v1/character/nothing?ocid=" + ocid, InvalidPath},
		{"no part", DefaultKey, "/maplestory/v1/basic?ocid=" + ocid, InvalidPath},
		{"unknown path", DefaultKey, "/", InvalidPath},
		{"bad date", DefaultKey, partPath(basic, ocid) + "&date=1-2-3", InvalidParameter},
		{"date before data", DefaultKey, partPath(basic, ocid) + "&date=2023-12-20", InvalidParameter},
		{"today", DefaultKey, partPath(basic, ocid) + "&date=2026-03-04", InvalidParameter},
		{"yesterday", DefaultKey, partPath(basic, ocid) + "&date=2026-03-03", OK},
	} {
		got := get(s, c.key, c.target)
		if got.status != c.want.Status() || c.want != OK && got.body != c.want.Body() {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if want := `{"error":{"name":"OPENAPI00004","message":"Please input valid parameter"}}`; InvalidParameter.Body() != want {
		t.Errorf("%s", InvalidParameter.Body())
	}
	a := s.Audit()
	if a.Calls != 16 || a.ByCode["OK"] != 2 || a.ByCode["OPENAPI00004"] != 6 || a.UnknownKey != 2 || a.ByKey["bad"] != 1 || a.Violations != 2 {
		t.Errorf("the audit says %+v", a)
	}
}

func flip(c byte) string {
	if c == '0' {
		return "1"
	}
	return "0"
}

func TestDates(t *testing.T) {
	s := newTestWorld(Options{ChangeEvery: 24 * time.Hour, BodySize: 10_000})
	ocid := s.Ocid(0)
	for target, want := range map[string]string{"2024-12-25": `"date":"2024-12-25T00:00+09:00","popularity"`, "2023-12-21": `{"date":"2023-12-21T00:00+09:00"}`} {
		if want[0] == '{' && s.world.created(0).In(korea).Format(time.DateOnly) <= target {
			t.Fatalf("the first character was created too early for this test")
		}
		if got := s.get(partPath(popularity, ocid) + "&date=" + target); got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%s: %+v", target, got)
		}
	}
	s.now = time.Date(2026, 3, 5, 0, 59, 0, 0, korea)
	if got := s.get(partPath(popularity, ocid) + "&date=2026-03-04"); got.body != BeingPrepared.Body() {
		t.Errorf("within an hour after midnight: %+v", got)
	}
	s.now = s.now.Add(time.Minute)
	old := s.get(partPath(popularity, ocid) + "&date=2026-03-04")
	s.now = s.now.Add(72 * time.Hour)
	if again := s.get(partPath(popularity, ocid) + "&date=2026-03-04"); old.status != http.StatusOK || again != old {
		t.Errorf("a day's value was %+v and is %+v", old, again)
	}
}

func testRandom(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SLUICE_TEST_SEED"); text != "" {
		parsed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = parsed
	}
	t.Logf("SLUICE_TEST_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}

// The limit and the audit are compared with counting every second anew.
func TestEverySlidingSecond(t *testing.T) {
	const limit = 20
	r := testRandom(t)
	s := newTestWorld(Options{Limits: Limits{PerSecond: limit}, BodySize: 1})
	target := partPath(popularity, s.Ocid(0))
	var all, passed []time.Time
	within := func(times []time.Time) int {
		n := 0
		for _, at := range times {
			if s.now.Sub(at) < time.Second {
				n++
			}
		}
		return n
	}
	largest, refused := 0, int64(0)
	for range 5_000 {
		s.now = s.now.Add([]time.Duration{0, 1, time.Duration(r.Int64N(int64(100 * time.Millisecond))), time.Second / limit, time.Second}[r.IntN(5)])
		all = append(all, s.now)
		largest = max(largest, within(all))
		want := http.StatusOK
		if within(passed) >= limit {
			want = http.StatusTooManyRequests
			refused++
		} else {
			passed = append(passed, s.now)
		}
		if got := s.get(target); got.status != want {
			t.Fatalf("call %d: %d, want %d", len(all), got.status, want)
		}
		all, passed = all[max(0, len(all)-500):], passed[max(0, len(passed)-500):]
	}
	a := s.Audit()
	if a.BeyondSecond != refused || a.LargestSecond != largest || a.LargestSecondByKey[DefaultKey] != largest || refused == 0 {
		t.Errorf("the audit says %d beyond and %d at most; it was %d and %d", a.BeyondSecond, a.LargestSecond, refused, largest)
	}
}

func TestDayAndKeysOfTheirOwn(t *testing.T) {
	s := newTestWorld(Options{Limits: Limits{PerDay: 3}, Keys: []string{"a", "b"}, BodySize: 1})
	target := partPath(popularity, s.Ocid(0))
	for i, want := range []int{200, 200, 200, 429, 429} {
		if got := get(s, "a", target); got.status != want {
			t.Errorf("call %d: %+v", i, got)
		}
	}
	if got := get(s, "b", target); got.status != 200 {
		t.Errorf("the other key: %+v", got)
	}
	s.now = time.Date(2026, 3, 4, 23, 59, 59, 999_999_999, korea)
	if got := get(s, "a", target); got.status != 429 {
		t.Errorf("before midnight: %+v", got)
	}
	s.now = s.now.Add(1)
	if got := get(s, "a", target); got.status != 200 {
		t.Errorf("after midnight in Korea: %+v", got)
	}
	if a := s.Audit(); a.BeyondDay != 3 || a.BeyondSecond != 0 || a.Violations != 3 {
		t.Errorf("%+v", a)
	}
}

func TestDuplicates(t *testing.T) {
	s := newTestWorld(Options{BodySize: 1})
	one, two := s.Ocid(1), s.Ocid(2)
	for _, ocid := range []string{one, one, two, one} {
		s.get(partPath(basic, ocid))
	}
	s.Change("basic:" + one)
	s.get(partPath(basic, one))
	s.get(partPath(stat, one))
	if a := s.Audit(); a.Duplicates != 2 || a.MostForOneValue != 3 || a.ByPart["basic"] != 5 {
		t.Errorf("%+v", a)
	}
	s.ResetAudit()
	if a := s.Audit(); a.Calls != 0 || a.Duplicates != 0 {
		t.Errorf("after a reset: %+v", a)
	}
}

func TestOrders(t *testing.T) {
	s := newTestWorld(Options{BodySize: 10_000})
	target := partPath(basic, s.Ocid(0))
	for mode, want := range map[string]Code{"game": GameMaintenance, "api": APIMaintenance, "preparing": BeingPrepared, "none": OK} {
		if got := post(s, "/_sim/maintenance?mode="+mode); got.status != http.StatusNoContent {
			t.Errorf("%s: %+v", mode, got)
		}
		if got := s.get(target); got.status != want.Status() || want != OK && got.body != want.Body() {
			t.Errorf("%s: %+v", mode, got)
		}
		s.SetMaintenance(OK)
	}
	for _, bad := range []string{"maintenance?mode=x", "slow?by=x", "change?key=x", "renew?ocid=x", "nothing"} {
		if got := post(s, "/_sim/"+bad); got.status != http.StatusNotFound {
			t.Errorf("%s: %+v", bad, got)
		}
	}
	var told struct{ Hash string }
	before, _ := s.Truth(s.Ocid(0), time.Time{})
	at := s.now.Format(time.RFC3339Nano)
	s.now = s.now.Add(time.Second)
	if got := post(s, "/_sim/change?key="+s.Ocid(0)); got.status != http.StatusNoContent {
		t.Errorf("change: %+v", got)
	}
	for query, same := range map[string]bool{"": false, "?at=" + strings.ReplaceAll(at, "+", "%2B"): true} {
		got := get(s, "", "/_sim/truth/item-equipment/"+s.Ocid(0)+query)
		if err := json.Unmarshal([]byte(got.body), &told); err != nil || (told.Hash == hex.EncodeToString(before.Hash[:])) != same {
			t.Errorf("truth%s: %+v", query, got)
		}
	}
	var characters []Character
	if got := get(s, "", "/_sim/characters?limit=3"); json.Unmarshal([]byte(got.body), &characters) != nil || len(characters) != 3 {
		t.Errorf("%+v", got)
	}
	var audit Audit
	if got := get(s, "", "/_sim/audit"); json.Unmarshal([]byte(got.body), &audit) != nil || audit.Calls != 4 {
		t.Errorf("%+v", got)
	}
}

// Faults that concern the connection need a real one.
func TestFaultsOnTheWire(t *testing.T) {
	s := New(Options{BodySize: 50_000})
	server := httptest.NewServer(s)
	defer server.Close()
	call := func() (int, error) {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL+partPath(itemEquipment, s.Ocid(0)), nil)
		if err != nil {
			return 0, err
		}
		r.Header.Set("x-nxopen-api-key", DefaultKey)
		res, err := server.Client().Do(r)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return len(body), err
	}
	whole, err := call()
	if err != nil {
		t.Fatal(err)
	}
	s.FailNext(PathContains("equipment"), 1, TruncatedBody())
	s.FailNext(ForOcid(s.Ocid(0)), 1, ConnectionReset())
	if n, err := call(); !errors.Is(err, io.ErrUnexpectedEOF) || n != whole/2 {
		t.Errorf("%d of %d bytes: %v", n, whole, err)
	}
	if _, err := call(); err == nil {
		t.Error("no reset")
	}
	if n, err := call(); err != nil || n != whole {
		t.Errorf("%d bytes: %v", n, err)
	}
	if a := s.Audit(); a.ByCode["FAULT"] != 2 || a.ByCode["OK"] != 2 {
		t.Errorf("%+v", a.ByCode)
	}
}

// A slow answer is in flight until its caller gives it up: the test holds eight
// of them there at once.
func TestConcurrencyIsAudited(t *testing.T) {
	s := New(Options{BodySize: 1, Limits: Limits{PerSecond: -1}})
	s.SetSlow(time.Hour)
	target := partPath(basic, s.Ocid(0))
	ctx, stop := context.WithCancel(t.Context())
	arrived, done := make(chan struct{}), make(chan struct{})
	s.OnRequest(func(*http.Request, int64) *Fault { arrived <- struct{}{}; return nil })
	for range 8 {
		go func() {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil)
			r.Header.Set("x-nxopen-api-key", DefaultKey)
			do(s, r)
			done <- struct{}{}
		}()
	}
	for range 8 {
		<-arrived
	}
	stop()
	for range 8 {
		<-done
	}
	if a := s.Audit(); a.Calls != 8 || a.LargestConcurrency != 8 || a.ByCode["GONE"] != 8 || a.Duplicates != 0 {
		t.Errorf("%+v", a)
	}
}
