package declared_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sim "sluice/internal/simulator/declared"
	"sluice/internal/source"
	"sluice/internal/source/declared"
	"sluice/internal/source/declared/shipped"
)

// game has records of which one needs what another tells.
const game = `
source: game
base: https://game.example/v1
auth: {header: X-Key}
ration:
  second: {per: key, calls: 500, every: 1s, shape: sliding, use: 90%, low: 70%}
  day: {per: key, calls: 1000, every: day, zone: Asia/Seoul, low: 90%}
tiers: {hot: 1h, warm: 2h, cold: 24h}
records:
  id:
    get: "/id?name={key}"
    keep: [number]
    fresh: 168h
  detail:
    get: "/detail/{number}"
    keep: [level, items.name]
error: error.name
answers:
  - {if: error == "SOON", do: wait, for: 20s, what: key}
  - {if: error == "DOWN", do: wait, for: 1m, what: source}
  - {if: error == "OTHER", do: renew}
  - {if: error == "NO", do: pause, what: account}
  - {if: error == "ONCE", do: retry}
`

func openKeyed(t *testing.T, text, base string) *declared.Keyed {
	t.Helper()
	k, err := declared.NewKeyed(load(t, text), declared.Options{Base: base, MaxBody: 64 << 10}, "canary-credential")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestMistakesOfRecords: each is told with its line.
func TestMistakesOfRecords(t *testing.T) {
	change := func(old, to string) string {
		if !strings.Contains(game, old) {
			t.Fatalf("there is no %q", old)
		}
		return strings.Replace(game, old, to, 1)
	}
	for name, c := range map[string]struct {
		text string
		line int
		says []string
	}{
		"a field of nobody":      {change("{number}", "{numbr}"), 15, []string{"unknown name numbr", "there are config, key, number"}},
		"records in a circle":    {change("?name={key}", "?name={level}"), 11, []string{"id needs detail needs id"}},
		"two of one field":       {change("    keep: [level, items.name]", "    keep: [level]\n  more:\n    get: \"/more/{key}\"\n    keep: [number]"), 15, []string{"kept of id and of more"}},
		"the same words always":  {change("/detail/{number}", "/detail"), 15, []string{"put {key}"}},
		"an unknown key":         {change("fresh: 168h", "freshh: 168h"), 13, []string{`did you mean "fresh"?`}},
		"nothing is that fresh":  {change("fresh: 168h", "fresh: 1s"), 13, []string{"at least 1m"}},
		"a star":                 {change("items.name", "items.*.name"), 16, []string{"* is not needed"}},
		"tiers upside down":      {change("warm: 2h", "warm: 30m"), 8, []string{"each as long as the one before"}},
		"streams as well":        {game + "streams: {a: {get: /a, key: id}}\n", 24, []string{"a file of its own"}},
		"a target":               {change("https://game.example/v1", `"https://game.example/{target}"`), 3, []string{"of no target"}},
		"an owner":               {change("error:", "owner: {get: /me, id: id}\nerror:"), 17, []string{"one credential"}},
		"an empty page":          {change("do: retry", "do: skip"), 23, []string{"about pages"}},
		"a key that is paused":   {change("what: account", "what: key"), 22, []string{"only wait"}},
		"points":                 {change("calls: 500", "unit: points, cost: 2, actual: X-Cost, calls: 500"), 6, []string{"records count calls"}},
		"a ration of some calls": {change("use: 90%", `match: "/id"`), 6, []string{"match cannot be kept"}},
		"calls at once":          {change("calls: 500, every: 1s, shape: sliding", "calls: 5, shape: concurrent"), 6, []string{"cannot be kept"}},
		"a call a second":        {change("calls: 500, every: 1s", "calls: 60, every: 1m"), 6, []string{"less than two a second"}},
		"a day alone":            {strings.Replace(game, "  second: {per: key, calls: 500, every: 1s, shape: sliding, use: 90%, low: 70%}\n", "", 1), 6, []string{"calls per second"}},
		"nobody knows":           {strings.Replace(game, game[strings.Index(game, "ration:"):strings.Index(game, "tiers:")], "ration: unknown\n", 1), 5, []string{"need to know what the upstream grants"}},
		"renewal of streams":     {strings.Replace(shop, "ration:", "answers: [{if: status == 400, do: renew}]\nration:", 1), 7, []string{"only records"}},
		"what of streams":        {strings.Replace(shop, "ration:", "answers: [{if: status == 400, do: wait, what: source}]\nration:", 1), 7, []string{"park.what"}},
		"tiers of streams":       {shop + "tiers: {hot: 1h}\n", 24, []string{"only records have tiers"}},
	} {
		_, mistakes := declared.Load([]byte(c.text))
		i := slices.IndexFunc(mistakes, func(m declared.Mistake) bool { return m.Line == c.line })
		if i < 0 {
			t.Errorf("%s: no mistake of line %d: %v", name, c.line, mistakes)
			continue
		}
		for _, text := range c.says {
			if !strings.Contains(mistakes[i].String(), text) {
				t.Errorf("%s: %q does not say %q", name, mistakes[i], text)
			}
		}
	}
}

// TestLimitsOfRecords: what a file states is never more than what the keeper grants.
func TestLimitsOfRecords(t *testing.T) {
	for ration, want := range map[string]struct{ hard, rate, burst, low int }{
		"second: {per: key, calls: 500, every: 1s, shape: sliding, use: 90%, low: 70%}":                      {500, 450, 25, 350},
		"second: {per: key, calls: 500, every: 1s, shape: sliding}":                                          {500, 453, 25, 453},
		"second: {per: key, calls: 10, every: 1s}":                                                           {10, 9, 1, 9},
		"second: {per: key, calls: 2, every: 1s}":                                                            {2, 1, 1, 1},
		"minute: {per: key, calls: 600, every: 1m, shape: sliding}":                                          {10, 9, 1, 9},
		"second: {per: key, calls: 10, every: 1s}\n  ten: {per: key, calls: 60, every: 10s, shape: sliding}": {6, 5, 1, 5},
		"minute: {per: key, calls: 120, every: 1m, shape: sliding}":                                          {2, 1, 1, 1},
	} {
		text := strings.Replace(game, "second: {per: key, calls: 500, every: 1s, shape: sliding, use: 90%, low: 70%}", ration, 1)
		l := openKeyed(t, text, "").Limits()
		if l.Hard != want.hard || l.Rate != want.rate || l.Burst != want.burst || l.LowRate != want.low || l.Daily != 1000 || l.DailyReserve != 100 || l.Zone.String() != "Asia/Seoul" {
			t.Errorf("%s: %+v", ration, l)
		}
	}
}

func TestKeysOfRecords(t *testing.T) {
	k := openKeyed(t, game, "")
	for key, want := range map[string]string{"id:ann": "id:ann", "detail:a:b": "detail:a:b", "id:\u1112\u1161\u11ab": "id:\ud55c"} {
		if got, err := k.CheckKey(key); err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", key, got, err, want)
		}
	}
	for _, key := range []string{"", "ann", "id:", "nothing:ann", "id: ann", "id:a\nb", "id:" + strings.Repeat("x", 501)} {
		if _, err := k.CheckKey(key); err == nil {
			t.Errorf("%q is a key", key)
		}
	}
	if got := k.Needs("detail:ann"); len(got) != 1 || got[0] != (source.Need{Key: "id:ann", Within: 168 * time.Hour}) {
		t.Errorf("%+v", got)
	}
	if p := k.Pace("id:ann"); p.FreshFor != 168*time.Hour || p.Hot != 168*time.Hour || p.Cold != 168*time.Hour {
		t.Errorf("%+v", p)
	}
	if p := k.Pace("detail:ann"); p.FreshFor != 0 || p.Hot != time.Hour || p.Warm != 2*time.Hour {
		t.Errorf("%+v", p)
	}
}

// TestMeaningsOfRecords: every answer has one, and none shows the credential.
func TestMeaningsOfRecords(t *testing.T) {
	known := map[string][]byte{"id:ann": []byte(`{"number":"n 1"}`)}
	failing := func(name string) (int, string) {
		return 400, `{"error":{"name":"` + name + `","message":"with canary-credential"}}`
	}
	type answer struct {
		status int
		body   string
	}
	of := func(status int, body string) answer { return answer{status, body} }
	for name, c := range map[string]struct {
		answer
		header  http.Header
		verdict source.FetchVerdict
		wait    time.Duration
		all     bool
		code    string
	}{
		"a value":               {of(200, `{"level":3,"at":1,"items":[{"name":"x","icon":"y"}]}`), nil, source.FetchDone, 0, false, ""},
		"nothing that is kept":  {of(200, `{"at":1}`), nil, source.FetchDead, 0, false, "NODATA"},
		"HTML":                  {of(200, `<html>`), nil, source.FetchRetry, 0, false, "UNPARSABLE"},
		"no JSON":               {of(200, `{"level":`), nil, source.FetchRetry, 0, false, "UNPARSABLE"},
		"a list":                {of(200, `[1]`), nil, source.FetchRetry, 0, false, "UNPARSABLE"},
		"too large":             {of(200, `{"level":"`+strings.Repeat("x", 80<<10)+`"}`), nil, source.FetchDead, 0, false, "MALFORMED"},
		"being prepared":        {of(failing("SOON")), nil, source.FetchWait, 20 * time.Second, false, "SOON"},
		"longer than the file":  {of(failing("SOON")), http.Header{"Retry-After": {"90"}}, source.FetchWait, 90 * time.Second, false, "SOON"},
		"maintenance":           {of(failing("DOWN")), nil, source.FetchWait, time.Minute, true, "DOWN"},
		"another number":        {of(failing("OTHER")), nil, source.FetchRetry, 0, false, "OTHER"},
		"a refused key":         {of(failing("NO")), nil, source.FetchDead, 0, true, "NO"},
		"something that passes": {of(failing("ONCE")), nil, source.FetchRetry, 0, false, "ONCE"},
		"too many":              {of(429, `{}`), http.Header{"Retry-After": {"7"}}, source.FetchWait, 7 * time.Second, true, "HTTP429"},
		"out of order":          {of(503, `oops`), nil, source.FetchRetry, 0, false, "HTTP503"},
		"not there":             {of(404, `{"error":{"name":"a name with spaces"}}`), nil, source.FetchDead, 0, false, "HTTP404"},
		"who are you":           {of(401, `{}`), nil, source.FetchDead, 0, true, "HTTP401"},
		"elsewhere":             {of(302, ``), http.Header{"Location": {"https://elsewhere.example"}}, source.FetchRetry, 0, false, "HTTP302"},
	} {
		var calls atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			if r.URL.RequestURI() != "/v1/detail/n%201" || r.Header.Get("X-Key") != "canary-credential" {
				t.Errorf("%s: asked for %s", name, r.URL.RequestURI())
			}
			for h, v := range c.header {
				w.Header()[h] = v
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		sent := 0
		f := openKeyed(t, game, server.URL+"/v1").FetchKnowing(t.Context(), "detail:ann", known, func() { sent++ })
		server.Close()
		if f.Verdict != c.verdict || f.Wait != c.wait || f.Everywhere != c.all || f.Code != c.code || f.Free || sent != 1 || calls.Load() != 1 {
			t.Errorf("%s: %+v; sent %d times, %d calls", name, f, sent, calls.Load())
		}
		if strings.Contains(f.Error, "canary") {
			t.Errorf("%s shows the credential: %s", name, f.Error)
		}
		if f.Renew != (name == "another number") {
			t.Errorf("%s: renewed %v", name, f.Renew)
		}
		if c.verdict == source.FetchDone && string(f.Body) != `{"items":[{"name":"x"}],"level":3}` {
			t.Errorf("%s: %s", name, f.Body)
		}
	}
	k := openKeyed(t, game, "http://127.0.0.1:1/v1")
	if f := k.Fetch(t.Context(), "detail:ann", nil); f.Verdict != source.FetchDead || !f.Free || !strings.Contains(f.Error, "no number") {
		t.Errorf("without what it needs: %+v", f)
	}
	if f := k.Fetch(t.Context(), "id:ann", nil); f.Verdict != source.FetchRetry || !f.Free {
		t.Errorf("nobody is there: %+v", f)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if f := k.Fetch(stopped, "id:ann", nil); f.Verdict != source.FetchWait || !f.Free || f.Everywhere {
		t.Errorf("when it is stopped: %+v", f)
	}
}

// TestRecordsOfSimulated: what is kept of what a file's own simulated upstream answers
// equals its truth, before and after changes, and what is made to fail fails so.
func TestRecordsOfSimulated(t *testing.T) {
	nexon, _ := shipped.File("nexon")
	for name, text := range map[string]string{"game": game, "nexon": string(nexon)} {
		code := map[string]string{"game": "SOON", "nexon": "OPENAPI00009"}[name]
		f := load(t, text)
		described, err := f.Simulated()
		if err != nil {
			t.Fatal(err)
		}
		spec, err := sim.ParseSpec(described)
		if err != nil {
			t.Fatal(err)
		}
		upstream, err := sim.New(spec, sim.Options{Seed: 4, Records: 5})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(upstream)
		defer server.Close()
		k := openKeyed(t, text, server.URL)
		fetch := func(key string) source.Fetched {
			t.Helper()
			known := map[string][]byte{}
			for _, need := range k.Needs(key) {
				known[need.Key] = k.Fetch(t.Context(), need.Key, nil).Body
			}
			return k.FetchKnowing(t.Context(), key, known, nil)
		}
		for range 3 {
			for record, values := range upstream.Truth().Keyed {
				for key, want := range values {
					if got := fetch(record + ":" + key); got.Verdict != source.FetchDone || string(got.Body) != string(canonicalOf(t, want)) {
						t.Errorf("%s, %s:%s is %s %s %s, want %s", name, record, key, got.Verdict, got.Error, got.Body, want)
					}
				}
			}
			upstream.Mutate(sim.Mutation{Change: 6, Renew: 3})
		}
		last := f.Records[len(f.Records)-1].Name
		if got := fetch(last + ":nobody"); got.Verdict != source.FetchDead {
			t.Errorf("%s: %+v", name, got)
		}
		for do, want := range map[string]source.FetchVerdict{"503": source.FetchRetry, "html": source.FetchRetry, "429": source.FetchWait, "redirect": source.FetchRetry} {
			upstream.Order(sim.Order{Stream: "id", Do: do, Times: 1})
			if got := k.Fetch(t.Context(), "id:key-1", nil); got.Verdict != want {
				t.Errorf("%s, %s: %+v", name, do, got)
			}
		}
		upstream.Order(sim.Order{Stream: "id", Do: "400", Code: code, Times: 1})
		if got := k.Fetch(t.Context(), "id:key-1", nil); got.Verdict != source.FetchWait || got.Code != code {
			t.Errorf("%s: %+v", name, got)
		}
		if a := upstream.Audit(); len(a.Unknown) > 0 || a.Anonymous > 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// canonicalOf is a value with its members in order.
func canonicalOf(t *testing.T, raw []byte) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
