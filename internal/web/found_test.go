package web_test

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/quota"
	"sluice/internal/source"
	"sluice/internal/source/declared"
	"sluice/internal/source/github"
	"sluice/internal/state"
	"sluice/internal/web"
)

// otherFile describes a source of a file, under the name of one that the service has.
const otherFile = `
source: noop
base: https://other.example
auth: none
ration:
  all: {per: source, calls: 600, every: 1m}
streams:
  things:
    get: /things
    key: id
    columns:
      name: {at: name, type: text}
`

// elsewhere is a dashboard over two sources.
type elsewhere struct {
	*apitest.Service
	http.Handler
	shelf   *documenttest.Memory
	other   source.Description
	quota   *windows
	account domain.Account
}

// windows are rations that a test states.
type windows struct{ all []quota.Window }

func (q *windows) Windows(_ context.Context, owner string) (of []quota.Window, err error) {
	for _, w := range q.all {
		if owner == "" || w.Owner == owner {
			of = append(of, w)
		}
	}
	return of, nil
}

// waiting has every run wait for a ration.
type waiting struct{ httpapi.Observer }

func (waiting) Progress(_ context.Context, run domain.Run) (engine.Progress, error) {
	return engine.Progress{Run: run, Waits: []engine.LaneWait{{Lane: "232b4fbba9bf/core", Wait: engine.Wait{Reason: "primary", Until: time.Now().Add(time.Hour)}}}}, nil
}

func newElsewhere(t *testing.T, o apitest.Options) *elsewhere {
	t.Helper()
	file, mistakes := declared.Load([]byte(otherFile))
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	e := &elsewhere{Service: apitest.Start(t, o), other: file.Describe(), quota: &windows{}}
	described := []source.Description{github.Describe(), e.other}
	e.shelf = documenttest.NewMemory(source.Kinds(described))
	e.Handler = web.New(httpapi.New(httpapi.Deps{
		Orchestrator: e.Engine, Observer: waiting{e.Engine}, Reader: e.State, Quota: e.quota, Statistics: e.Statistics, Documents: e.shelf,
		Lister: e.shelf, Finder: e.shelf, Feed: e.shelf, Queries: e.Queries, Sources: described, Catalogue: e.Catalogue(),
	}, httpapi.Options{}), web.Options{Sources: described, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	var err error
	if e.account, err = e.Engine.PutAccount(t.Context(), engine.Signup{Source: "noop", Login: "plain", Token: "t"}); err != nil {
		t.Fatal(err)
	}
	return e
}

// store keeps a document of the other source.
func (e *elsewhere) store(t *testing.T, name, title string) {
	t.Helper()
	now := time.Now().UTC()
	d := document.Document{Key: document.Key{Account: e.account.ID, Kind: e.other.Kinds[0].Kind, Name: name}, Version: now, SeenAt: now, Raw: []byte(`{"id":1}`), Fields: document.Fields{CreatedAt: now, UpdatedAt: now}}
	d.Set("name", document.Text(title))
	if err := e.shelf.Upsert(t.Context(), []document.Document{d}); err != nil {
		t.Fatal(err)
	}
}

func (e *elsewhere) page(t *testing.T, path string, status int, headers ...string) string {
	t.Helper()
	w := ask(e, http.MethodGet, path, "", append([]string{"Accept", html}, headers...)...)
	if w.Code != status {
		t.Errorf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// TestOtherSourcesAreFound by the logins that pages show, and their documents by the
// links that lists have.
func TestOtherSourcesAreFound(t *testing.T) {
	e := newElsewhere(t, apitest.Options{})
	e.store(t, "1", "hello")
	table := e.other.Kinds[0].Plural
	list := e.page(t, "/data?kind="+table, http.StatusOK)
	_, rest, _ := strings.Cut(list, `href="/data/`+table+"/")
	link, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("no document is linked: %s", list)
	}
	for _, path := range []string{"/data/" + table + "/" + link, "/data/" + table + "/1?account=plain", "/data/" + table + "/1"} {
		text := e.page(t, path, http.StatusOK)
		if !strings.Contains(text, "account = &#39;plain&#39; AND") || !strings.Contains(text, "--account noop:plain") && !strings.Contains(path, "=plain") {
			t.Errorf("%s tells others to ask so: %s", path, text)
		}
	}
	for _, path := range []string{"/data?kind=" + table + "&account=plain", "/accounts?login=plain", "/accounts?login=plain&source=noop"} {
		if text := e.page(t, path, http.StatusOK); !strings.Contains(text, ">plain<") || strings.Contains(text, `role="alert"`) {
			t.Errorf("%s does not find it", path)
		}
	}
	if text := e.page(t, "/accounts?login=plain&source=github", http.StatusOK); !strings.Contains(text, "No account is like that") {
		t.Error("it is found at another source")
	}
	for _, path := range []string{"/runs?account=plain", "/jobs?account=plain"} {
		e.page(t, path, http.StatusOK)
	}
	if _, err := e.Engine.PutAccount(t.Context(), engine.Signup{Source: "github", Login: "plain", Token: "t"}); err != nil {
		t.Fatal(err)
	}
	if text := e.page(t, "/jobs?account=plain", http.StatusConflict); !strings.Contains(text, "github:plain, noop:plain") {
		t.Errorf("of two it says %s", text)
	}
	if text := e.page(t, "/accounts?login=plain", http.StatusOK); strings.Count(text, ">plain<") != 2 {
		t.Error("of two not both are listed")
	}
	one, other := e.page(t, "/data?kind=zzz", http.StatusNotFound), e.page(t, "/data/zzz/1", http.StatusNotFound)
	for _, text := range []string{one, other} {
		if !strings.Contains(text, "zzz") || !strings.Contains(text, "there are repositories") {
			t.Errorf("of no kind it says %s", text)
		}
	}
}

// TestDirectionsAreShown where texts of others turn them.
func TestDirectionsAreShown(t *testing.T) {
	e := newElsewhere(t, apitest.Options{})
	e.store(t, "1", "user\u202etxt.exe")
	table := e.other.Kinds[0].Plural
	for _, path := range []string{"/data?kind=" + table, "/data/" + table + "/1?account=plain", "/data/sql?sql=" + url.QueryEscape("SELECT 'user'||char(8238)||'txt.exe' AS a")} {
		if text := e.page(t, path, http.StatusOK); strings.Contains(text, "\u202e") || !strings.Contains(text, `user\u202etxt.exe`) {
			t.Errorf("%s turns the direction, or does not show it", path)
		}
	}
}

// TestCommandsNameTheServiceAsBrowsersDo, where a trusted proxy says how.
func TestCommandsNameTheServiceAsBrowsersDo(t *testing.T) {
	e := newElsewhere(t, apitest.Options{})
	for _, path := range []string{"/data?kind=issues", "/data/sql?sql=SELECT+1+AS+a"} {
		if text := e.page(t, path, http.StatusOK, "X-Forwarded-Host", "sluice.example", "X-Forwarded-Proto", "https"); !strings.Contains(text, "https://sluice.example/api/v1/") {
			t.Errorf("%s names another host", path)
		}
		if text := e.page(t, path, http.StatusOK, "X-Forwarded-Host", "evil.example/'$(x)"); !strings.Contains(text, "http://localhost/api/v1/") {
			t.Errorf("%s takes what is no host", path)
		}
	}
	h := site(t, "", web.Options{Sources: []source.Description{github.Describe()}})
	if text := ask(h, http.MethodGet, "/data?kind=issues", "", "Accept", html, "X-Forwarded-Host", "evil.example").Body.String(); !strings.Contains(text, "http://localhost/api/v1/") {
		t.Error("somebody who is not trusted says how the service is called")
	}
}

// TestOwnersHaveOneName on every page, and a count of a whole source is told as one.
func TestOwnersHaveOneName(t *testing.T) {
	e := newElsewhere(t, apitest.Options{})
	first, second := e.Signup(0), e.Signup(1)
	second.Token = first.Token
	var owner string
	for _, who := range []engine.Signup{first, second} {
		account, err := e.Engine.PutAccount(t.Context(), who)
		if err != nil {
			t.Fatal(err)
		}
		owner = account.Owner
	}
	e.quota.all = []quota.Window{{Owner: owner, Bucket: "core", Limit: 10, Available: 5}, {Owner: "abcdefabcdef", Bucket: "core", Limit: 10, Available: 5}, {Owner: "noop", Bucket: "noop", Limit: 600, Available: 595}}
	both := ">" + first.Login + ", " + second.Login + "<"
	for path, want := range map[string][]string{
		"/": {both, ">noop (whole source)<"}, "/system": {both, ">no account (abcde…)<", ">noop (whole source)<"}, "/sources/github": {both, ">no account (abcde…)<"},
	} {
		text := e.page(t, path, http.StatusOK)
		for _, one := range want {
			if !strings.Contains(text, one) {
				t.Errorf("%s lacks %s", path, one)
			}
		}
	}
}

// TestWaitsAreToldInWords, and figures only where there can be some.
func TestWaitsAreToldInWords(t *testing.T) {
	held := make(chan struct{})
	e := newElsewhere(t, apitest.Options{OnCall: func(source.Call) (source.Result, bool) { <-held; return source.Result{}, false }})
	t.Cleanup(func() { close(held) })
	run, err := e.Engine.StartRun(t.Context(), e.account.ID, domain.TriggerManual, domain.PriorityHigh)
	if err != nil {
		t.Fatal(err)
	}
	text := e.page(t, "/accounts/plain", http.StatusOK)
	if strings.Contains(text, "232b4fbba9bf") || !strings.Contains(text, "core: its ration is used up, goes on") {
		t.Errorf("it shows %s", text)
	}
	for _, figure := range []string{"Commits", "Activity score", "The last year", "Among all accounts"} {
		if strings.Contains(text, figure) {
			t.Errorf("a source without commits has %s", figure)
		}
	}
	if got, err := e.State.Runs(t.Context(), state.RunQuery{Limit: 1}); err != nil || len(got) != 1 || got[0].ID != run.ID {
		t.Error(got, err)
	}
}

// TestMistakesOfAFileHaveLines of their own on the page.
func TestMistakesOfAFileHaveLines(t *testing.T) {
	e := newElsewhere(t, apitest.Options{})
	w := ask(e, http.MethodPost, "/act/add-source", url.Values{"file": {"source: bad\nbase: nowhere\nnonsense: 1\nstreams: {}\n"}, "next": {"/sources"}}.Encode(), "Accept", html)
	if text := w.Body.String(); w.Code != http.StatusUnprocessableEntity || strings.Contains(text, `\n  line`) || strings.Count(text, "\n  line ") < 2 {
		t.Errorf("%d %s", w.Code, text)
	}
}
