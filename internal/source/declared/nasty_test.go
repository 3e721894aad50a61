package declared_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sim "sluice/internal/simulator/declared"

	"sluice/internal/domain"
	"sluice/internal/ration/keeper"
	"sluice/internal/source"
	"sluice/internal/source/declared"
)

// TestChangeWhileWalking: whatever comes, changes and goes between two pages, the next
// quiet run has it right.
func TestChangeWhileWalking(t *testing.T) {
	for name, text := range walks {
		t.Run(name, func(t *testing.T) {
			text = strings.ReplaceAll(text, ", sweep_not: x", "")
			for seed := range uint64(4) {
				d := drive(t, text, sim.Options{Seed: seed, Records: 17, Children: 3})
				calls := 0
				d.before = func() {
					if calls++; calls%3 == 0 && calls < 60 {
						m := sim.Mutation{Change: 1, Add: 1}
						// A parent that comes and goes between two listings is never listed:
						// what a walk over all parents showed of it is not found gone.
						if name != numbersOnly && name != "changes of all children" {
							m.Remove = 1
						}
						d.upstream.Mutate(m)
					}
				}
				for range 3 {
					d.run()
				}
				d.before = nil
				// What was told to be missing while it was collected is collected, or
				// known to be gone, by the next run and the one after it.
				d.run()
				d.run()
				d.failures = nil
				d.want("after it is quiet")
			}
		})
	}
}

// one calls the first job of a file once, with an upstream of the test's own.
func one(t *testing.T, text string, answer http.HandlerFunc) source.Result {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	src, err := declared.New(load(t, text), declared.Options{Base: server.URL, MaxBody: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	run := domain.Run{ID: 1, AccountID: 7, Login: "acme"}
	jobs, err := src.Plan(run)
	if err != nil {
		t.Fatal(err)
	}
	res := source.Result{}
	for range 10 {
		res = src.Call(t.Context(), source.Call{Run: run, Job: domain.Job{JobSpec: jobs[0]}, Token: "secret-token"})
		if res.Verdict != source.Done || len(res.Next) == 0 {
			break
		}
		jobs = res.Next
	}
	if res.Failure != nil && strings.Contains(res.Failure.Message, "secret-token") {
		t.Errorf("the failure shows the credential: %s", res.Failure.Message)
	}
	return res
}

// TestNasty: each bad answer has an outcome that says what it is.
func TestNasty(t *testing.T) {
	items := func(page string) string {
		return head + "\n  items: {get: /items, page: " + page + ", records: data, key: id}\n"
	}
	body := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
	}
	header := func(status int, name, value, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(name, value)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
		}
	}
	numbers := items("{type: page, param: page, size: {n: 1}}")
	feed := head + "\n  items: {get: /items, format: xml, records: rss.channel.item, key: guid|id}\n"
	once := head + "\n  items: {get: /items, records: data, key: id}\n"
	twice := once + "  parts: {of: items, get: '/items/{items.id}/parts', key: id}\n"
	where := func(condition string) string {
		return head + "\n  items: {get: /items, records: data, key: id, where: '" + condition + "'}\n"
	}
	tokens := items("{type: cursor, param: after, next: next}")
	for name, c := range map[string]struct {
		file    string
		answer  http.HandlerFunc
		verdict source.Verdict
		says    string
	}{
		"a page that ignores its number": {numbers, body(`{"data":[{"id":1}]}`), source.Fail, "does not end: page 2 begins with the same record"},
		"a token that stays":             {tokens, body(`{"data":[{"id":1}],"next":"x"}`), source.Fail, "names itself as the next"},
		"a token that goes back": {tokens, func(w http.ResponseWriter, r *http.Request) {
			after := r.URL.Query().Get("after")
			fmt.Fprintf(w, `{"data":[{"id":"%s1"}],"next":"%s"}`, after, map[string]string{"": "x", "x": "y", "y": "z", "z": "x"}[after])
		}, source.Fail, "goes back to one that was read before"},
		"a link that goes back": {items("{type: link}"), func(w http.ResponseWriter, r *http.Request) {
			page := r.URL.Query().Get("page")
			w.Header().Set("Link", "</items?page="+map[string]string{"": "2", "2": "3", "3": "2"}[page]+`>; rel="next"`)
			fmt.Fprintf(w, `{"data":[{"id":"p%s"}]}`, page)
		}, source.Fail, "goes back to one that was read before"},
		"an expression that divides by nothing": {where("1 % record.id == 0"), body(`{"data":[{"id":0},{"id":1}]}`), source.Fail, "cannot be made"},
		"an expression beyond a list":           {where("record.l[7] == 0"), body(`{"data":[{"id":0,"l":[1]},{"id":1,"l":[0,0,0,0,0,0,0,0]}]}`), source.Fail, "cannot be made"},
		"an expression of another type":         {where("len(record.id) > 2"), body(`{"data":[{"id":0},{"id":"long"}]}`), source.Fail, "cannot be made"},
		"pages without end": {items("{type: page, param: page, size: {n: 1}, most: 5}"), func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"data":[{"id":%s}]}`, r.URL.Query().Get("page"))
		}, source.Fail, "5 pages were read"},
		"another host":          {numbers, header(302, "Location", "https://evil.example/x", ""), source.Retry, "another host, which is not followed"},
		"redirects for ever":    {numbers, header(302, "Location", "/again", ""), source.Fail, "again and again"},
		"a redirect to nowhere": {numbers, header(301, "X", "y", ""), source.Fail, "to nowhere"},
		"a next page elsewhere": {items("{type: link}"), header(200, "Link", `<https://evil.example/2>; rel="next"`, `{"data":[{"id":1}]}`), source.Fail, "only 127.0.0.1"},
		"HTML":                  {numbers, body("<html></html>"), source.Retry, "HTML"},
		"no XML":                {feed, body("<html><br></html>"), source.Retry, "not XML"},
		"another XML":           {feed, body("<html><a/></html>"), source.Retry, `nothing at "rss.channel.item"`},
		"XML without records":   {feed, body("<rss><channel><title>a</title></channel></rss>"), source.Done, ""},
		"XML of one record":     {feed, body("<rss><channel><item><id of='x'>7</id></item></channel></rss>"), source.Done, ""},
		"a mark before JSON":    {once, body("\ufeff{\"data\":[{\"id\":1}]}"), source.Done, ""},
		"no JSON":               {numbers, body("ok"), source.Retry, "not JSON"},
		"no records":            {numbers, body(`{"items":[]}`), source.Retry, `nothing at "data"`},
		"no key":                {numbers, body(`{"data":[{"name":1}]}`), source.Retry, "which is its key"},
		"one without a key":     {once, body(`{"data":[{"id":1},{"name":1},{"id":2},{}]}`), source.Fail, "2 records of page 1 were left out, the first of them record 2: a record of items has nothing at id"},
		"an id that leads out":  {twice, body(`{"data":[{"id":".."}]}`), source.Fail, "leads out of its path"},
		"gigantic":              {numbers, body(`{"data":["` + strings.Repeat("x", 1<<17) + `"]}`), source.Fail, "larger than"},
		"a total that lies":     {items("{type: page, param: page, size: {n: 2}, total: total}"), body(`{"data":[],"total":7}`), source.Fail, "page 2 of 4 has no records"},
		"a limit":               {numbers, header(429, "Retry-After", "7", `{}`), source.Wait, "left alone"},
		"a limit of two years":  {numbers, header(429, "Retry-After", "63072000", `{}`), source.Wait, "for 9600h0m0s; one call goes first after 2h0m0s"},
		"an empty page":         {numbers, header(204, "X", "y", ""), source.Done, ""},
		"unasked 304":           {numbers, header(304, "X", "y", ""), source.Retry, "not asked about"},
		"a rule":                {numbers + "answers:\n  - {if: 'answer.code == 7', do: pause, say: the key has expired}\n", body(`{"code":7}`), source.PauseAccount, "the key has expired"},
		"a rule about nothing":  {numbers + "answers:\n  - {if: 'answer.a.b.c == 7', do: pause}\n", body(`{"data":[]}`), source.Done, ""},
		"a rule that skips":     {numbers + "answers:\n  - {if: status == 400, do: skip}\n", header(400, "X", "y", "{}"), source.Done, ""},
		"a rule that waits":     {numbers + "error: e\nanswers:\n  - {if: error == 'busy', do: wait, for: 9s}\n", body(`{"e":"busy"}`), source.Wait, "busy"},
		"the credential echoed": {numbers, header(400, "X", "y", `{"message":"bad secret-token"}`), source.Fail, "[token]"},
	} {
		t.Run(name, func(t *testing.T) {
			res := one(t, c.file, c.answer)
			if res.Verdict != c.verdict || c.says != "" && (res.Failure == nil || !strings.Contains(res.Failure.Message, c.says)) {
				t.Errorf("verdict %v, %+v; want %v with %q", res.Verdict, res.Failure, c.verdict, c.says)
			}
		})
	}
}

// TestRecordLeftOut: a record that cannot be read costs none of the others, and is no
// proof of what is gone.
func TestRecordLeftOut(t *testing.T) {
	text := head + "\n  items: {get: /items, records: data, key: id, conditional: etag}\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Etag", `"a"`)
		_, _ = w.Write([]byte(`{"data":[{"id":1},{"name":1},{"id":2}]}`))
	}))
	t.Cleanup(server.Close)
	src, err := declared.New(load(t, text), declared.Options{Base: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	run := domain.Run{ID: 1, AccountID: 7, Login: "acme"}
	jobs, _ := src.Plan(run)
	res := src.Call(t.Context(), source.Call{Run: run, Job: domain.Job{JobSpec: jobs[0]}, Token: "secret-token"})
	if res.Verdict != source.Done || len(res.Documents) != 2 || len(res.Absences) > 0 || len(res.Stored) > 0 || len(res.Next) != 1 || res.Next[0].PageKey == jobs[0].PageKey || res.Next[0].Bucket != domain.LocalBucket {
		t.Errorf("%+v", res)
	}
}

// TestSecretStaysHome: a parameter that holds the credential is not kept with the
// addresses that the upstream names.
func TestSecretStaysHome(t *testing.T) {
	text := strings.Replace(head, "auth: bearer", "auth: {query: key}", 1) + "\n  items: {get: /items, page: {type: link}, key: id}\n"
	f := load(t, text)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("key") != "secret-token" {
			t.Errorf("asked %s", r.URL)
		}
		w.Header().Set("Link", `</items?key=secret-token&page=2>; rel="next"`)
		_, _ = w.Write([]byte(`[{"id":1}]`))
	}))
	t.Cleanup(server.Close)
	src, err := declared.New(f, declared.Options{Base: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	run := domain.Run{ID: 1, AccountID: 7, Login: "acme"}
	jobs, _ := src.Plan(run)
	res := src.Call(t.Context(), source.Call{Run: run, Job: domain.Job{JobSpec: jobs[0]}, Token: "secret-token"})
	if len(res.Next) != 1 || strings.Contains(string(res.Next[0].Params), "secret-token") {
		t.Errorf("%s", res.Next[0].Params)
	}
}

// TestSlow: an upstream that does not answer, or never comes to an end, costs as long as
// a call may take, and is tried again.
func TestSlow(t *testing.T) {
	text := head + "\n  items: {get: /items, key: id}\n"
	for name, answer := range map[string]http.HandlerFunc{
		"no answer": func(http.ResponseWriter, *http.Request) {},
		"no end": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`[{"id":`))
			_ = http.NewResponseController(w).Flush()
		},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer(w, r)
			<-r.Context().Done()
		}))
		src, err := declared.New(load(t, text), declared.Options{Base: server.URL, Timeout: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		run := domain.Run{ID: 1, AccountID: 7, Login: "acme"}
		jobs, _ := src.Plan(run)
		res := src.Call(t.Context(), source.Call{Run: run, Job: domain.Job{JobSpec: jobs[0]}, Token: "secret-token"})
		server.CloseClientConnections()
		server.Close()
		if res.Verdict != source.Retry || res.Failure == nil || res.Failure.Kind != domain.FailureTimeout {
			t.Errorf("%s: %v, %+v", name, res.Verdict, res.Failure)
		}
	}
}

// TestHeadersThatContradict: of a ration that a file states and answers tell otherwise the
// smaller counts.
func TestHeadersThatContradict(t *testing.T) {
	text := strings.Replace(head, head[strings.Index(head, "ration:"):strings.Index(head, "streams:")],
		"ration:\n  all: {per: key, calls: 100, every: 1m, read: {limit: X-Limit, remaining: X-Left}}\n", 1) + "\n  items: {get: /items, key: id}\n"
	for name, c := range map[string]struct {
		limit, left string
		want        keeper.Answer
	}{
		"more than the file says": {"5000", "4999", keeper.Answer{Limit: 100}},
		"less than the file says": {"60", "7", keeper.Answer{Limit: 60, Left: 7, HasLeft: true}},
		"more, and little left":   {"5000", "3", keeper.Answer{Limit: 100, Left: 3, HasLeft: true}},
		"nonsense":                {"many", "-", keeper.Answer{}},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Limit", c.limit)
			w.Header().Set("X-Left", c.left)
			_, _ = w.Write([]byte(`[]`))
		}))
		src, err := declared.New(load(t, text), declared.Options{Base: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		run := domain.Run{ID: 1, AccountID: 7, Login: "acme"}
		jobs, _ := src.Plan(run)
		res := src.Call(t.Context(), source.Call{Run: run, Job: domain.Job{JobSpec: jobs[0]}, Token: "secret-token"})
		server.Close()
		if len(res.Quota.Told) != 1 {
			t.Fatalf("%s: %+v", name, res)
		}
		got := res.Quota.Told[0]
		if got.Limit != c.want.Limit || got.HasLeft != c.want.HasLeft || got.HasLeft && got.Left != c.want.Left {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestTargetsAreSeen refuses names that no page could show.
func TestTargetsAreSeen(t *testing.T) {
	src, err := declared.New(load(t, bare), declared.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, login := range []string{"\u200b", "\u202e\u2066", "\u3164", "\u00a0"} {
		if err := src.CheckLogin(login); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%+q: %v", login, err)
		}
	}
	if err := src.CheckLogin("한글"); err != nil {
		t.Error(err)
	}
}
