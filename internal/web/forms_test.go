package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/refresh"
	"sluice/internal/web"
)

var (
	wholeForm = regexp.MustCompile(`(?s)<form\b.*?</form>`)
	fieldName = regexp.MustCompile(`<(?:input|select|textarea)\b[^>]*?\sname="([^"]*)"`)
)

// oneNameEach checks that no form of a page has two fields of one name: whoever reads
// it would have to guess which one is meant.
func oneNameEach(t *testing.T, where, text string) {
	t.Helper()
	for _, form := range wholeForm.FindAllString(text, -1) {
		seen := map[string]bool{}
		for _, field := range fieldName.FindAllStringSubmatch(form, -1) {
			if seen[field[1]] {
				t.Errorf("%s has a form with two fields %s: %.120s", where, field[1], form)
			}
			seen[field[1]] = true
		}
	}
}

// TestFieldsHaveNamesOfTheirOwn looks at every form of every page as it is written, with
// all that is shown only now and then.
func TestFieldsHaveNamesOfTheirOwn(t *testing.T) {
	pages, err := web.Templates()
	if err != nil || len(pages) < 20 {
		t.Fatal(len(pages), err)
	}
	for name, text := range pages {
		if strings.Contains(text, `{{template "hidden"`) {
			t.Errorf("%s has a form whose hidden fields are not looked at", name)
		}
		oneNameEach(t, name, text)
	}
}

// records answers of every record that there is a value, and notes what it is asked to
// refresh.
type records struct {
	httpapi.Refreshes
	asked []refresh.Entity
	value string
}

func (*records) CheckEntity(e refresh.Entity) (refresh.Entity, error) { return e, nil }

func (r *records) Get(_ context.Context, e refresh.Entity) (refresh.Answer, error) {
	return refresh.Answer{Entity: e, Snapshot: json.RawMessage(r.value), Freshness: refresh.Stale, Status: &refresh.Status{Code: "RETRYING", Tries: 1, Error: "no"}}, nil
}

func (r *records) Request(_ context.Context, q refresh.Request) ([]refresh.Grant, error) {
	r.asked = append(r.asked, q.Entities...)
	return make([]refresh.Grant, len(q.Entities)), nil
}

func (*records) Overview(context.Context) (refresh.Overview, error) {
	return refresh.Overview{Sources: []refresh.SourceOverview{{Source: "game"}}, Recent: []refresh.Entity{{Source: "game", Key: "item:7"}}}, nil
}

func (*records) DeadLetterCounts(context.Context) (map[string]int64, error) { return nil, nil }

// submit sends a form of a page as a browser does, with all of its fields.
func submit(t *testing.T, h http.Handler, page, action string, headers ...string) (status int, sent url.Values) {
	t.Helper()
	text := ask(h, http.MethodGet, page, "", append([]string{"Accept", html}, headers...)...).Body.String()
	oneNameEach(t, page, text)
	for _, form := range wholeForm.FindAllString(text, -1) {
		if !strings.Contains(form, `action="/act/`+action+`"`) {
			continue
		}
		sent = url.Values{}
		for _, f := range regexp.MustCompile(`<input[^>]*name="([^"]*)"[^>]*value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
			sent.Add(f[1], f[2])
		}
		w := ask(h, http.MethodPost, "/act/"+action, sent.Encode(), append([]string{"Accept", html}, headers...)...)
		return w.Code, sent
	}
	t.Fatalf("%s has no form %s: %s", page, action, text)
	return 0, nil
}

// TestRefreshItNowAsksForTheRecord that the page shows, and for nothing else.
func TestRefreshItNowAsksForTheRecord(t *testing.T) {
	s, game := apitest.Start(t, apitest.Options{}), &records{value: "null"}
	h := web.New(httpapi.New(httpapi.Deps{
		Orchestrator: s.Engine, Observer: s.Engine, Reader: s.State, Quota: s.Quota, Statistics: s.Statistics, Documents: s.Documents, Refreshes: game, Keys: s.Keys,
	}, httpapi.Options{}), web.Options{})
	const page = "/refresh?source=game&key=item%3A1"
	if status, sent := submit(t, h, page, "refresh"); status != http.StatusSeeOther || len(game.asked) != 1 || game.asked[0].Key != "item:1" {
		t.Errorf("%d, %v was asked for with %v", status, game.asked, sent)
	}
	text := ask(h, http.MethodGet, page, "", "Accept", html).Body.String()
	if strings.Contains(text, "null</pre>") || !strings.Contains(text, "There is no value yet") || !strings.Contains(text, "after one try") {
		t.Errorf("without a value the page shows %s", text)
	}
	if !strings.Contains(text, `href="/refresh?key=item%3A7&amp;source=game"`) {
		t.Error("no key is offered")
	}
}

// TestBulkButtonsDoWhatThePageShows: a state is part of what they change, and where
// nothing in that state can be changed there is no button.
func TestBulkButtonsDoWhatThePageShows(t *testing.T) {
	h := site(t, "", web.Options{})
	for _, c := range []struct {
		page       string
		has, lacks []string
	}{
		{"/jobs?type=BAD&status=PAUSED", []string{"/confirm/cancel-jobs?status=PAUSED&amp;type=BAD", "Only failed jobs are retried"}, []string{"/confirm/retry-jobs"}},
		{"/jobs?type=BAD&status=FAILED", []string{"/confirm/retry-jobs?status=FAILED&amp;type=BAD", "Only jobs that have not ended"}, []string{"/confirm/cancel-jobs"}},
		{"/jobs?status=SUCCEEDED", []string{"neither retried nor canceled"}, []string{"/confirm/"}},
		{"/jobs?type=BAD", []string{"/confirm/retry-jobs?type=BAD", "/confirm/cancel-jobs?type=BAD"}, []string{"status="}},
		{"/runs?status=PLANNING", []string{"/confirm/cancel-runs", `name="status" value="PLANNING"`}, nil},
		{"/runs?status=COMPLETED", []string{"Only runs that are under way"}, []string{"/confirm/"}},
		{"/confirm/cancel-jobs?status=PAUSED&type=BAD", []string{"<dt>status</dt>", `href="/jobs?status=PAUSED&amp;type=BAD"`}, nil},
		{"/confirm/cancel-runs?status=PLANNING", []string{"<dt>status</dt>", `href="/runs?status=PLANNING"`}, nil},
	} {
		text := ask(h, http.MethodGet, c.page, "", "Accept", html).Body.String()
		for _, want := range c.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %s", c.page, want)
			}
		}
		for _, not := range c.lacks {
			if strings.Contains(text, not) {
				t.Errorf("%s has %s", c.page, not)
			}
		}
	}
	if w := ask(h, http.MethodGet, "/confirm/retry-jobs?status=PAUSED", "", "Accept", html); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("what is paused is retried: %d", w.Code)
	}
}

// TestFormsOutliveTheirLogin: who sends one that is too late is told so, and gets back
// what was typed, but for secrets.
func TestFormsOutliveTheirLogin(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	h := web.New(httpapi.New(httpapi.Deps{
		Orchestrator: s.Engine, Observer: s.Engine, Reader: s.State, Quota: s.Quota, Statistics: s.Statistics, Documents: s.Documents, Timers: s.Timers,
	}, httpapi.Options{APIToken: "s3cret"}), web.Options{})
	cookie := logIn(t, h, "s3cret")
	ask(h, http.MethodPost, "/logout", "", "Cookie", cookie)
	form := url.Values{"once": {"x"}, "next": {"/timers"}, "id": {"invoice-7"}, "when": {"5m"}, "token": {"hush"}}
	w := ask(h, http.MethodPost, "/act/set-timer", form.Encode(), "Accept", html, "Cookie", cookie)
	text := w.Body.String()
	if w.Code != http.StatusUnauthorized || !strings.Contains(text, "Your login has ended") || !strings.Contains(text, `href="/login?next=%2Ftimers"`) || strings.Contains(text, "hush") {
		t.Fatalf("%d %s", w.Code, text)
	}
	oneNameEach(t, "the page to log in again", text)
	again := url.Values{"next": {"/timers"}, "lost": {"set-timer"}, "lost.id": {"invoice-7"}, "lost.when": {"5m"}, "token": {"wrong"}}
	if text := ask(h, http.MethodPost, "/login", again.Encode(), "Accept", html).Body.String(); !strings.Contains(text, `name="lost.id" value="invoice-7"`) {
		t.Error("after a wrong token it is lost")
	}
	again.Set("token", "s3cret")
	w = ask(h, http.MethodPost, "/login", again.Encode(), "Accept", html)
	if text = w.Body.String(); w.Code != http.StatusOK || len(w.Result().Cookies()) == 0 || !strings.Contains(text, `value="invoice-7"`) || !strings.Contains(text, `value="5m"`) || !strings.Contains(text, "Nothing was done yet") {
		t.Errorf("%d %s", w.Code, text)
	}
	if w := ask(h, http.MethodGet, "/api/v1/timers/invoice-7", "", "Authorization", "Bearer s3cret"); w.Code != http.StatusNotFound {
		t.Errorf("the timer was set: %d", w.Code)
	}
}
