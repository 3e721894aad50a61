package maplestory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// seed is the randomised tests' seed, which SLUICE_TEST_SEED overrides.
func seed(t testing.TB) uint64 {
	t.Helper()
	n := uint64(time.Now().UnixNano())
	if text := os.Getenv("SLUICE_TEST_SEED"); text != "" {
		parsed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("SLUICE_TEST_SEED: %v", err)
		}
		n = parsed
	}
	t.Logf("seed %d (set SLUICE_TEST_SEED to repeat)", n)
	return n
}

func nastyWorld(n uint64) *testWorld {
	return newTestWorld(Options{
		Seed: n, Characters: 20, BodySize: 12_000, Limits: Limits{PerSecond: -1, PerDay: -1},
		Nasty: &Nasty{Seed: n, Rate: 0.5, Huge: 4096, Preparing: Duration(time.Minute)},
	})
}

// pester asks all sorts of things, the same ones in the same order each time.
func pester(w *testWorld, rounds int) string {
	var said strings.Builder
	for i := range rounds {
		p, character := part(i%int(parts)), i%20
		r := w.get(partPath(p, w.Ocid(character)))
		fmt.Fprintf(&said, "%d %d %d\n", i, r.status, len(r.body))
		w.now = w.now.Add(time.Second)
	}
	return said.String()
}

func TestNastyModeDoesEverything(t *testing.T) {
	n := seed(t)
	synctest.Test(t, func(t *testing.T) { // slow answers take no time here
		w := nastyWorld(n)
		pester(w, 3000)
		injected := w.Audit().Injected
		for _, kind := range Kinds() {
			if injected[kind] == 0 {
				t.Errorf("%s never happened: %v", kind, injected)
			}
		}
		if injected[FaultOther] != 0 {
			t.Errorf("%d faults have no kind", injected[FaultOther])
		}
		if r := do(w, httptest.NewRequest(http.MethodPost, "/_sim/nasty", strings.NewReader(`{"rate":0}`))); r.status != 204 {
			t.Fatalf("nasty mode goes on: %v", r)
		}
		for i := range 20 {
			for p := range parts {
				body := w.get(partPath(p, w.Ocid(i)))
				truth, ok := w.Truth(partNames[p]+":"+w.Ocid(i), time.Time{})
				if body.status != 200 || !ok || string(canonical([]byte(body.body), keptOf[p])) != string(truth.Value) {
					t.Fatalf("after the faults character %d answers %d and not the truth", i, body.status)
				}
			}
		}
	})
}

func TestNastyModeIsDeterministic(t *testing.T) {
	n := seed(t)
	run := func() (said string, injected map[string]int64) {
		synctest.Test(t, func(*testing.T) {
			w := nastyWorld(n)
			said, injected = pester(w, 300), w.Audit().Injected
		})
		return said, injected
	}
	one, counts := run()
	two, same := run()
	if one != two || fmt.Sprint(counts) != fmt.Sprint(same) {
		t.Fatal("the same seed and the same calls went wrong in two ways")
	}
	n++
	if other, _ := run(); other == one {
		t.Fatal("two seeds went wrong in the same way")
	}
}

func TestOneKeyIsBeingPreparedForLong(t *testing.T) {
	w := newTestWorld(Options{BodySize: 12_000})
	path := partPath(stat, w.Ocid(3))
	if r := post(w, "/_sim/preparing?key=stat:"+w.Ocid(3)+"&for=3h"); r.status != 204 {
		t.Fatalf("%v", r)
	}
	for range 3 {
		if r := w.get(path); r.status != 400 || !strings.Contains(r.body, "OPENAPI00009") {
			t.Fatalf("%v", r)
		}
		if w.get(partPath(stat, w.Ocid(4))).status != 200 || w.get(partPath(basic, w.Ocid(3))).status != 200 {
			t.Fatal("another key is being prepared")
		}
		w.now = w.now.Add(59 * time.Minute)
	}
	w.now = w.now.Add(time.Hour)
	if w.get(path).status != 200 || w.Audit().Injected[FaultPreparing] != 3 {
		t.Fatalf("it is not ready, or not counted: %v", w.Audit().Injected)
	}
	if !w.SetPreparing(w.Ocid(3), time.Time{}) || w.get(partPath(itemEquipment, w.Ocid(3))).status != 400 {
		t.Fatal("it is ready")
	}
	w.now = w.now.AddDate(1, 0, 0)
	if w.get(partPath(itemEquipment, w.Ocid(3))).status != 400 {
		t.Fatal("it became ready without being told")
	}
	w.EndPreparing()
	if w.get(partPath(itemEquipment, w.Ocid(3))).status != 200 || w.SetPreparing("stat:nobody", time.Time{}) {
		t.Fatal("it did not become ready, or nobody is being prepared")
	}
}

func TestARenewedOcidNamesItsSuccessor(t *testing.T) {
	w := newTestWorld(Options{BodySize: 12_000})
	old := w.Ocid(5)
	if _, renewed := w.Successor(old); renewed || !w.Renew(old) {
		t.Fatal("it was renewed before it was")
	}
	if next, renewed := w.Successor(old); !renewed || next != w.Ocid(5) {
		t.Fatalf("its successor is %q", next)
	}
	r := get(w, "", "/_sim/truth/stat/"+old)
	var said map[string]string
	if err := json.Unmarshal([]byte(r.body), &said); err != nil || r.status != 404 || said["gone"] != "renewed" || said["ocid"] != w.Ocid(5) {
		t.Fatalf("%v %v", r, err)
	}
	if _, renewed := w.Successor(strings.Repeat("0", 64)); renewed {
		t.Fatal("nobody has a successor")
	}
}

func TestFaultsOverHTTP(t *testing.T) {
	w := newTestWorld(Options{BodySize: 12_000})
	order := func(body string) int {
		return do(w, httptest.NewRequest(http.MethodPost, "/_sim/faults", strings.NewReader(body))).status
	}
	path := partPath(basic, w.Ocid(1))
	if order(`{"kind":"api_maintenance","ocid":"`+w.Ocid(1)+`","times":-1}`) != 204 {
		t.Fatal("not understood")
	}
	for range 3 {
		if w.get(path).status != 503 || w.get(partPath(basic, w.Ocid(2))).status != 200 {
			t.Fatal("the fault hit the wrong calls")
		}
	}
	if post(w, "/_sim/faults/clear").status != 204 || w.get(path).status != 200 {
		t.Fatal("it stayed")
	}
	if order(`{"kind":"huge_body","pad":9000000}`) != 204 || len(w.get(path).body) < 9_000_000 {
		t.Fatal("the answer is small")
	}
	if order(`{"kind":"sunshine"}`) != 400 || order(`{}`) != 400 || order(`{"colour":1}`) != 400 {
		t.Fatal("nonsense is understood")
	}
}

func TestAConnectionThatIsCut(t *testing.T) {
	w := newTestWorld(Options{})
	server := httptest.NewServer(w)
	defer server.Close()
	w.FailNext(AnyRequest, 1, ConnectionCut())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+partPath(itemEquipment, w.Ocid(0)), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("x-nxopen-api-key", DefaultKey)
	res, err := server.Client().Do(r)
	if err == nil {
		_, err = io.ReadAll(res.Body)
		res.Body.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("a cut connection gives %v", err)
	}
}
