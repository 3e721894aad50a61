package maplestory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/domain"
	simulator "sluice/internal/simulator/maplestory"
	"sluice/internal/source"
)

const secretKey = "live_very-secret-0123456789"

type rig struct {
	sim    *simulator.Server
	source *Source
	now    time.Time
}

// newRig is a source before a simulator, with a real network between them and a
// clock that the test moves.
func newRig(t *testing.T, sim simulator.Options, opt Options) *rig {
	t.Helper()
	r := &rig{now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)}
	sim.Now = func() time.Time { return r.now }
	sim.Keys = []string{secretKey}
	r.sim = simulator.New(sim)
	server := httptest.NewServer(r.sim)
	t.Cleanup(server.Close)
	opt.BaseURL, opt.Key, opt.Now = server.URL, secretKey, sim.Now
	source, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	r.source = source
	return r
}

// fetch makes a call and sees to it that it was exactly one.
func (r *rig) fetch(t *testing.T, key string) source.Fetched {
	t.Helper()
	before := r.sim.Audit().Calls
	res := r.source.Fetch(t.Context(), key, nil)
	if made := r.sim.Audit().Calls - before; made != 1 {
		t.Errorf("%s took %d calls", key, made)
	}
	if text := fmt.Sprintf("%+v %s", res.Error, res.Body); strings.Contains(text, secretKey) {
		t.Errorf("the API key is in %q", text)
	}
	return res
}

func TestFetchKeepsTheTruth(t *testing.T) {
	r := newRig(t, simulator.Options{Seed: 5, Characters: 30, ChangeEvery: time.Hour, Limits: simulator.Limits{PerSecond: -1}}, Options{})
	seen := map[[32]byte]bool{}
	for round := range 3 {
		for _, c := range r.sim.Characters(0, 10) {
			for _, part := range []string{"", "item-equipment:", "basic:", "stat:", "popularity:", "ability:", "symbol-equipment:"} {
				res := r.fetch(t, part+c.Ocid)
				truth, ok := r.sim.Truth(part+c.Ocid, time.Time{})
				if !ok || res.Verdict != source.FetchDone || res.HTTPStatus != http.StatusOK || res.Hash != truth.Hash || string(res.Body) != string(truth.Value) {
					t.Fatalf("round %d, %s%s: %s %s %.200s; the truth is %.200s", round, part, c.Ocid, res.Verdict, res.Error, res.Body, truth.Value)
				}
				if !json.Valid(res.Body) || res.Received <= len(res.Body) {
					t.Fatalf("%s: %d bytes of %d are no smaller JSON", part, len(res.Body), res.Received)
				}
				if part == "" && (len(res.Body) < 15_000 || len(res.Body) > 19_000) {
					t.Errorf("%d bytes are kept; about 17,000 are wanted", len(res.Body))
				}
				if part == "item-equipment:" {
					if seen[res.Hash] {
						t.Errorf("round %d: %s has a value that was there before", round, c.Ocid)
					}
					seen[res.Hash] = true
				}
			}
		}
		r.now = r.now.Add(time.Hour)
	}
}

func TestSameValueAnotherDay(t *testing.T) {
	r := newRig(t, simulator.Options{}, Options{})
	ocid := r.sim.Ocid(3)
	first := r.fetch(t, ocid)
	r.now = r.now.Add(48 * time.Hour)
	if again := r.fetch(t, ocid); again.Hash != first.Hash || string(again.Body) != string(first.Body) {
		t.Error("a value that did not change has another hash")
	}
	r.sim.Change(ocid)
	if changed := r.fetch(t, ocid); changed.Verdict != source.FetchDone || changed.Hash == first.Hash {
		t.Errorf("a changed value has the old hash (%s)", changed.Verdict)
	}
}

func TestVerdictOfEveryAnswer(t *testing.T) {
	r := newRig(t, simulator.Options{}, Options{MaxBody: 400_000})
	ocid := r.sim.Ocid(0)
	with := func(f simulator.Fault, header, value string) simulator.Fault {
		f.Header = http.Header{header: {value}}
		return f
	}
	in90 := r.now.Add(90 * time.Second).Format(http.TimeFormat)
	for _, c := range []struct {
		name  string
		fault simulator.Fault
		want  source.Fetched
	}{
		{"internal", simulator.Failure(simulator.Internal), source.Fetched{Verdict: source.FetchRetry, Code: "OPENAPI00001", HTTPStatus: 500}},
		{"forbidden", simulator.Failure(simulator.Forbidden), source.Fetched{Verdict: source.FetchDead, Code: "OPENAPI00002", HTTPStatus: 403, Everywhere: true}},
		{"identifier", simulator.Failure(simulator.InvalidIdentifier), source.Fetched{Verdict: source.FetchDead, Code: "OPENAPI00003", HTTPStatus: 400}},
		{"parameter", simulator.Failure(simulator.InvalidParameter), source.Fetched{Verdict: source.FetchDead, Code: "OPENAPI00004", HTTPStatus: 400}},
		{"API key", simulator.Failure(simulator.InvalidKey), source.Fetched{Verdict: source.FetchDead, Code: "OPENAPI00005", HTTPStatus: 400, Everywhere: true}},
		{"path", simulator.Failure(simulator.InvalidPath), source.Fetched{Verdict: source.FetchDead, Code: "OPENAPI00006", HTTPStatus: 400}},
		{"quota", simulator.Failure(simulator.QuotaExceeded), source.Fetched{Verdict: source.FetchWait, Code: "OPENAPI00007", HTTPStatus: 429, Wait: time.Second, Everywhere: true}},
		{"preparing", simulator.Failure(simulator.BeingPrepared), source.Fetched{Verdict: source.FetchWait, Code: "OPENAPI00009", HTTPStatus: 400, Wait: time.Minute}},
		{"game", simulator.Failure(simulator.GameMaintenance), source.Fetched{Verdict: source.FetchWait, Code: "OPENAPI00010", HTTPStatus: 400, Wait: time.Minute, Everywhere: true}},
		{"API", simulator.Failure(simulator.APIMaintenance), source.Fetched{Verdict: source.FetchWait, Code: "OPENAPI00011", HTTPStatus: 503, Wait: time.Minute, Everywhere: true}},
		{"told how long", with(simulator.Failure(simulator.APIMaintenance), "Retry-After", "7"), source.Fetched{Verdict: source.FetchWait, Code: "OPENAPI00011", HTTPStatus: 503, Wait: 7 * time.Second, Everywhere: true}},
		{"told until when", with(simulator.Failure(simulator.GameMaintenance), "Retry-After", in90), source.Fetched{Verdict: source.FetchWait, Code: "OPENAPI00010", HTTPStatus: 400, Wait: 90 * time.Second, Everywhere: true}},
		{"told too much", with(simulator.Failure(simulator.QuotaExceeded), "Retry-After", "999999999999"), source.Fetched{Verdict: source.FetchWait, Code: "OPENAPI00007", HTTPStatus: 429, Wait: time.Hour, Everywhere: true}},
		{"bare 429", simulator.Fault{Status: 429, Body: "slow down"}, source.Fetched{Verdict: source.FetchWait, Code: "HTTP429", HTTPStatus: 429, Wait: time.Second, Everywhere: true}},
		{"bare 503", simulator.HTMLErrorPage(503), source.Fetched{Verdict: source.FetchRetry, Code: "HTTP503", HTTPStatus: 503}},
		{"gateway", simulator.HTMLErrorPage(502), source.Fetched{Verdict: source.FetchRetry, Code: "HTTP502", HTTPStatus: 502}},
		{"bare 404", simulator.HTMLErrorPage(404), source.Fetched{Verdict: source.FetchDead, Code: "HTTP404", HTTPStatus: 404}},
		{"redirect", with(simulator.Fault{Status: 302}, "Location", "http://elsewhere.invalid/"), source.Fetched{Verdict: source.FetchRetry, Code: "HTTP302", HTTPStatus: 302}},
		{"page with 200", simulator.HTMLErrorPage(200), source.Fetched{Verdict: source.FetchDead, Code: "UNPARSABLE", HTTPStatus: 200}},
		{"no JSON", simulator.MalformedJSON(), source.Fetched{Verdict: source.FetchDead, Code: "UNPARSABLE", HTTPStatus: 200}},
		{"nothing", simulator.Fault{Status: 200}, source.Fetched{Verdict: source.FetchDead, Code: "UNPARSABLE", HTTPStatus: 200}},
		{"only a date", simulator.Fault{Status: 200, Body: `{"date":"2026-01-01T00:00+09:00"}`}, source.Fetched{Verdict: source.FetchDead, Code: "NODATA", HTTPStatus: 200}},
		{"too large", simulator.Fault{Status: 200, Body: strings.Repeat(" ", 400_001)}, source.Fetched{Verdict: source.FetchDead, Code: "TOOLARGE", HTTPStatus: 200}},
		{"cut off", simulator.TruncatedBody(), source.Fetched{Verdict: source.FetchRetry, Code: "CUTOFF", HTTPStatus: 200}},
		{"reset", simulator.ConnectionReset(), source.Fetched{Verdict: source.FetchRetry, Code: "CONNECTION"}},
		{"echo of the API key", simulator.Fault{Status: 400, Body: `{"error":{"name":"OPENAPI00005","message":"bad key ` + secretKey + `"}}`}, source.Fetched{Verdict: source.FetchDead, Code: "OPENAPI00005", HTTPStatus: 400, Everywhere: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.sim.ClearHooks()
			r.sim.FailNext(simulator.AnyRequest, 1, c.fault)
			got := r.fetch(t, ocid)
			if got.Error == "" || got.Body != nil || got.Hash != ([32]byte{}) {
				t.Errorf("no words, or a value: %+v", got)
			}
			got.Error, got.Received = "", 0
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%+v\nwant\n%+v", got, c.want)
			}
			if after := r.fetch(t, ocid); after.Verdict != source.FetchDone {
				t.Errorf("the next call is %s: %s", after.Verdict, after.Error)
			}
		})
	}
}

func TestQuotaOfTheUpstream(t *testing.T) {
	r := newRig(t, simulator.Options{Limits: simulator.Limits{PerSecond: 2}}, Options{})
	ocid := r.sim.Ocid(0)
	for i, want := range []source.FetchVerdict{source.FetchDone, source.FetchDone, source.FetchWait} {
		if got := r.fetch(t, "basic:"+ocid); got.Verdict != want {
			t.Errorf("call %d is %s", i, got.Verdict)
		}
	}
	r.now = r.now.Add(quotaPause)
	if got := r.fetch(t, "basic:"+ocid); got.Verdict != source.FetchDone {
		t.Errorf("after the pause it is %s: %s", got.Verdict, got.Error)
	}
}

func TestTimeoutAndStop(t *testing.T) {
	r := newRig(t, simulator.Options{}, Options{Timeout: 50 * time.Millisecond})
	ocid := r.sim.Ocid(0)
	r.sim.OnRequest(func(req *http.Request, _ int64) *simulator.Fault { f := simulator.Delayed(time.Hour); return &f })
	if got := r.fetch(t, ocid); got.Verdict != source.FetchRetry || got.Code != WhyTimeout || got.Free {
		t.Errorf("a slow answer is %+v", got)
	}

	slow := newRig(t, simulator.Options{}, Options{Timeout: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	slow.sim.OnRequest(func(*http.Request, int64) *simulator.Fault {
		cancel()
		f := simulator.Delayed(time.Hour)
		return &f
	})
	if got := slow.source.Fetch(ctx, ocid, nil); got.Verdict != source.FetchWait || got.Code != WhyStopped || got.Free || got.Wait != 0 {
		t.Errorf("a stopped call is %+v", got)
	}
	if got := slow.source.Fetch(ctx, ocid, nil); got.Code != WhyStopped || !got.Free {
		t.Errorf("a call that was never made is %+v", got)
	}
}

func TestNobodyThere(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	s, err := New(Options{BaseURL: address, Key: secretKey})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Fetch(t.Context(), "abc", nil); got.Verdict != source.FetchRetry || got.Code != WhyConnection || !got.Free {
		t.Errorf("%+v", got)
	}
}

func TestNames(t *testing.T) {
	r := newRig(t, simulator.Options{Seed: 9}, Options{})
	c := r.sim.Characters(7, 1)[0]
	if res := r.fetch(t, "id:"+c.Name); string(res.Body) != `{"ocid":"`+c.Ocid+`"}` || res.Verdict != source.FetchDone {
		t.Errorf("%s is %s, want %s (%+v)", c.Name, res.Body, c.Ocid, res)
	}
	if res := r.fetch(t, "id:누구"); res.Verdict != source.FetchDead || res.Code != "OPENAPI00004" {
		t.Errorf("an unknown name is %+v", res)
	}
	r.sim.FailNext(simulator.AnyRequest, 1, simulator.Fault{Status: 200, Body: `{"ocid":null}`})
	if res := r.fetch(t, "id:"+c.Name); res.Verdict != source.FetchDead || res.Code != WhyUnparsable || len(res.Body) > 0 {
		t.Errorf("an answer without ocid is %+v", res)
	}
}

func TestSaysWhenACallHasLeft(t *testing.T) {
	r := newRig(t, simulator.Options{}, Options{})
	var left atomic.Int32
	for range 3 {
		res := r.source.Fetch(t.Context(), r.sim.Ocid(0), func() { left.Add(1) })
		if res.Verdict != source.FetchDone {
			t.Fatalf("%+v", res)
		}
	}
	if res := r.source.Fetch(t.Context(), "?", func() { left.Add(1) }); !res.Free {
		t.Fatalf("%+v", res)
	}
	if left.Load() != 3 {
		t.Errorf("%d calls left, want 3", left.Load())
	}
}

func TestKeys(t *testing.T) {
	r := newRig(t, simulator.Options{}, Options{})
	for key, want := range map[string]string{
		"abc123": "item-equipment:abc123", "item-equipment:abc": "item-equipment:abc", "stat:A-b_9": "stat:A-b_9",
		"": "", "stat:": "", ":abc": "", "nothing:abc": "", "stat:a:b": "", "a/b": "", "a b": "", "a?b": "", "a&b=c": "", "가": "", "a\x00": "",
		// Names: any letters, whole syllables.
		"id:메이플": "id:메이플", "id:\u1106\u1166": "id:메", "id:Maple7": "id:Maple7",
		"id:": "", "id:a&b": "", "id:{a}": "", "id:a b": "", "id:\xff": "", "id:" + strings.Repeat("가", maxName+1): "",
		strings.Repeat("a", maxOcid): "item-equipment:" + strings.Repeat("a", maxOcid), strings.Repeat("a", maxOcid+1): "",
	} {
		got, err := CanonicalKey(key)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", key, got, err)
		}
		if _, checked := r.source.CheckKey(key); (checked == nil) != (err == nil) || err != nil && domain.CodeOf(checked) != domain.CodeInvalid {
			t.Errorf("%q: %v", key, checked)
		}
		if want == "" {
			if res := r.source.Fetch(t.Context(), key, nil); res.Verdict != source.FetchDead || res.Code != WhyBadKey || !res.Free {
				t.Errorf("%q: %+v", key, res)
			}
		}
	}
	if calls := r.sim.Audit().Calls; calls != 0 {
		t.Errorf("%d calls were made for bad keys", calls)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, opt := range map[string]Options{
		"no key": {}, "line in key": {Key: "a\nb"}, "space in key": {Key: secretKey + " "},
		"address": {Key: secretKey, BaseURL: "ftp://x"}, "key in address": {Key: secretKey, BaseURL: "http://u:" + secretKey + "@x"},
		"negative": {Key: secretKey, Timeout: -1}, "part": {Key: secretKey, Fields: []string{"nothing:a"}}, "no part": {Key: secretKey, Fields: []string{"a"}},
		"empty name": {Key: secretKey, Fields: []string{"basic:a..b"}}, "date": {Key: secretKey, Fields: []string{"basic:date"}},
	} {
		_, err := New(opt)
		if domain.CodeOf(err) != domain.CodeInvalid || strings.Contains(err.Error(), secretKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(Options{Key: secretKey}); err != nil {
		t.Error(err)
	}
	var typed *domain.Error
	if _, err := New(Options{}); !errors.As(err, &typed) {
		t.Errorf("%T", err)
	}
}

func TestOwnFields(t *testing.T) {
	r := newRig(t, simulator.Options{}, Options{Fields: []string{"item-equipment:preset_no"}})
	if got := r.fetch(t, r.sim.Ocid(1)); !strings.HasPrefix(string(got.Body), `{"preset_no":`) || len(got.Body) != len(`{"preset_no":1}`) {
		t.Errorf("%s", got.Body)
	}
	if got := r.fetch(t, "basic:"+r.sim.Ocid(1)); strings.Contains(string(got.Body), `"date":`) || !strings.Contains(string(got.Body), "character_image") {
		t.Errorf("a part without fields is not kept as a whole: %s", got.Body)
	}
}

// A fetch must not touch the value that an earlier one brought.
func TestResultsAreTheCallersOwn(t *testing.T) {
	r := newRig(t, simulator.Options{Limits: simulator.Limits{PerSecond: -1}}, Options{})
	first := r.fetch(t, r.sim.Ocid(0))
	kept := string(first.Body)
	for i := range 5 {
		r.fetch(t, r.sim.Ocid(i+1))
	}
	if string(first.Body) != kept {
		t.Error("a result was overwritten")
	}
}
