package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

// pages are what the navigation leads to, and what each says.
var pages = map[string]string{
	"/": "Runs in progress", "/accounts": "Add an account", "/sources": "Come with the program", "/runs": "Under way", "/jobs": "Retry failed jobs", "/data": "Parquet", "/data/sql": "Saved queries",
	"/refresh": "HIGH waiting", "/dead-letters": "Dead letters", "/timers": "Set a timer", "/system": "Audit log",
}

// TestDashboard does in a browser what people do: everything on one service, as
// starting one takes its time.
func TestDashboard(t *testing.T) {
	w := start(t, 4)
	logins := w.upstream.Logins()
	b := open(t, w.URL)
	t.Run("nothing without a token", func(t *testing.T) { needsToken(t, w, b) })
	t.Run("empty pages say what to do", func(t *testing.T) {
		b.t = t
		b.goTo("/")
		b.sees("Nothing is collected yet")
		for path, says := range map[string]string{"/accounts": "sluice account add", "/runs": "There was no run yet", "/jobs": "There is no job yet", "/dead-letters": "Nothing is dead", "/timers": "No timer waits"} {
			b.goTo(path)
			b.sees(says)
		}
	})
	w.collected(logins[0], logins[1])
	t.Run("every page opens", func(t *testing.T) {
		b.t = t
		for path, says := range pages {
			b.goTo(path)
			b.sees(says)
		}
		b.goTo("/accounts/" + logins[0])
		b.sees("The last year")
		b.sees("complete")
	})
	t.Run("a run is watched", func(t *testing.T) { watched(t, w, b, logins[2]) })
	t.Run("a failed job is retried", func(t *testing.T) { retried(t, w, b) })
	t.Run("many are retried after a question", func(t *testing.T) { retriedInBulk(t, w, b, logins[3]) })
	t.Run("unfinished jobs are canceled after a question", func(t *testing.T) { canceled(t, w, b, logins[3]) })
	t.Run("dead letters are redriven", func(t *testing.T) { redriven(t, w, b) })
	t.Run("a key turns fresh by itself", func(t *testing.T) { fresh(t, w, b) })
	t.Run("a timer is set and fires", func(t *testing.T) { fires(t, w, b) })
	t.Run("a list has what the API has", func(t *testing.T) { listed(t, w, b) })
	t.Run("what SQL finds is what the API finds", func(t *testing.T) { queried(t, w, b) })
	t.Run("a search finds what the API finds", func(t *testing.T) { searched(t, w, b) })
	t.Run("filters survive a reload", func(t *testing.T) { filtered(t, b) })
	t.Run("a refused form keeps what was typed", func(t *testing.T) { keepsTyped(t, b) })
	t.Run("charts over time from a saved query", func(t *testing.T) { overTime(t, b) })
	t.Run("downloads have what the list has", func(t *testing.T) { downloaded(t, w, b) })
	t.Run("refused batches of a sink", func(t *testing.T) { letters(t, w, b) })
	t.Run("a source is added, tried out and removed", func(t *testing.T) { addsSources(t, w, b) })
	t.Run("texts of others do nothing", func(t *testing.T) { inert(t, w, b) })
	t.Run("a tab that nobody sees has no stream", func(t *testing.T) { unseen(t, b) })
	t.Run("an account that is paused elsewhere", func(t *testing.T) { pausedElsewhere(t, w, b, logins[0]) })
	t.Run("an account is paused, planned and purged", func(t *testing.T) { looksAfter(t, w, b, logins[1]) })
	t.Run("phones need not scroll sideways", func(t *testing.T) { fitsPhones(t, b, logins[0]) })
	t.Run("pause", func(t *testing.T) { paused(t, b) })
	b.t = t
	b.wasQuiet()
	t.Run("a service that is away", func(t *testing.T) { away(t, b) })
	t.Run("who may only read cannot act", func(t *testing.T) { readsOnly(t, w) })
	t.Run("logging out ends it everywhere", func(t *testing.T) { loggedOut(t, w) })
}

func needsToken(t *testing.T, w *world, b *browserTab) {
	b.t = t
	for path := range pages {
		b.goTo(path)
		if got := b.says("h1"); got != "Log in to Sluice" {
			t.Errorf("%s shows %q", path, got)
		}
	}
	b.logIn(w.Token)
	b.sees("Overview")
	if b.is(`document.cookie !== ""`) {
		t.Error("a script can read the cookie")
	}
	for _, form := range []string{"/act/start-run", "/login", "/logout"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+form, strings.NewReader("account=1"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", "https://elsewhere.example")
		request.Header.Set("Sec-Fetch-Site", "cross-site")
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode < http.StatusBadRequest {
			t.Errorf("another site may send %s: %s", form, response.Status)
		}
	}
}

// watched starts a run on the page and sees it end there, on the page that was loaded once.
func watched(t *testing.T, w *world, b *browserTab, login string) {
	b.t = t
	hold := make(chan struct{})
	w.upstream.Before(sim.PathContains("/events"), 1, func() { <-hold })
	b.goTo("/accounts")
	b.fill("#add [name=login]", login, "#add [name=token]", w.upstream.Token(login))
	b.press("#add button")
	b.sees("is collected")
	b.press(`#part-account a[href^="/runs/"]`)
	b.sees("jobs done")
	b.do(chromedp.Evaluate(`window.loadedOnce = true`, nil))
	if !strings.Contains("running planning created", strings.ToLower(b.says("#part-state"))) {
		t.Errorf("it begins as %s", b.says("#part-state"))
	}
	close(hold)
	b.do(chromedp.PollFunction(`() => document.querySelector("#part-state").innerText.toLowerCase() === "completed"`, nil, chromedp.WithPollingTimeout(patience)))
	b.sees("It has ended")
	if !b.is(`window.loadedOnce === true`) {
		t.Error("the page was loaded again")
	}
}

func retried(t *testing.T, w *world, b *browserTab) {
	b.t = t
	b.goTo("/")
	b.sees("USER_EVENTS")
	b.goTo("/jobs?status=FAILED")
	b.press(`#part-list td a[href^="/jobs/"]`)
	b.press("#part-acts button")
	b.sees("is tried again")
	b.do(chromedp.PollFunction(`() => document.querySelector("#part-state").innerText.toLowerCase() === "succeeded"`, nil, chromedp.WithPollingTimeout(patience)))
	w.Completes(w.failed)
}

func retriedInBulk(t *testing.T, w *world, b *browserTab, login string) {
	b.t = t
	w.collected(login)
	b.goTo(fmt.Sprintf("/runs/%d", w.failed))
	b.sees("Failures by cause")
	// The ledger has what is known, stored and failed of each resource.
	if !b.is(`[...document.querySelectorAll("th")].map((h) => h.innerText).join().includes("Known,Stored,Failed") && document.querySelector(".spark polyline") !== null`) {
		t.Error("there is no ledger, or no curve")
	}
	b.press(".acts button")
	b.sees("1 failed jobs match")
	b.press("form button.primary")
	b.sees("1 were tried again")
	w.Completes(w.failed)
}

// canceled begins a run that waits, and cancels its jobs on the page of all jobs.
func canceled(t *testing.T, w *world, b *browserTab, login string) {
	b.t = t
	hold := make(chan struct{})
	w.upstream.Before(sim.PathContains("/"), holdAll, func() { <-hold })
	defer close(hold)
	b.goTo("/accounts/" + login)
	b.press(`form[action$="/start-run"] button`)
	b.sees("has begun")
	// What it forecasts stands beside what has come of it, and it can be hurried.
	b.sees("Forecast and reality")
	b.press(`form[action$="/set-priority"] button`)
	b.sees("has priority")
	b.goTo("/")
	b.do(chromedp.PollFunction(`(login) => document.querySelector("#part-runs").innerText.includes(login)`, nil, chromedp.WithPollingArgs(login), chromedp.WithPollingTimeout(patience)))
	if !b.is(`Number(document.querySelector("#part-jobs tbody tr:first-child .num").innerText) > 0`) {
		t.Errorf("no job is in hand: %s", b.says("#part-jobs"))
	}
	b.goTo("/jobs?account=" + login)
	b.press(`a[href*="/confirm/cancel-jobs"]`)
	b.sees("jobs that have not ended match")
	b.press("form button.primary")
	b.sees("were canceled")
	b.goTo("/runs?account=" + login)
	b.press(`#part-list td a[href^="/runs/"]`)
	b.sees("canceled on the dashboard")
}

func redriven(t *testing.T, w *world, b *browserTab) {
	b.t = t
	w.dies(b, "item-equipment:00000000000000000000000000000001", "item-equipment:00000000000000000000000000000002")
	b.press("td.act form button")
	b.sees("1 were redriven")
	b.sees("00000000000000000000000000000001")
	b.press(`a[href*="/confirm/discard"]`)
	b.press("form button.primary")
	b.sees("were discarded")
}

func fresh(t *testing.T, w *world, b *browserTab) {
	b.t = t
	b.goTo("/refresh")
	b.fill("[name=key]", "item-equipment:"+w.game.Ocids()[0])
	b.press(".filters button")
	b.do(chromedp.PollFunction(`() => document.querySelector("#part-answer .badge")?.innerText.toLowerCase() === "fresh"`, nil, chromedp.WithPollingTimeout(patience)))
	b.sees("character_class")
	// What is asked for once more is the key that the page shows: nothing else dies.
	b.press(`form[action$="/act/refresh"] button`)
	b.sees("item-equipment:" + w.game.Ocids()[0] + ": ")
	b.goTo("/refresh")
	b.press(`p a[href*="` + w.game.Ocids()[0] + `"]`)
	b.sees("character_class")
}

func fires(t *testing.T, _ *world, b *browserTab) {
	b.t = t
	b.goTo("/timers")
	b.fill("[name=id]", "tea", "[name=when]", "2s", "[name=payload]", `{"minutes": 3}`)
	b.press(`form[action$="/set-timer"] button`)
	b.sees("Timer tea is set")
	b.do(chromedp.PollFunction(`() => document.querySelector("#part-done").innerText.includes("tea")`, nil, chromedp.WithPollingTimeout(patience)))
	b.fill("[name=id]", "later", "[name=when]", "2h")
	b.press(`form[action$="/set-timer"] button`)
	b.fill(`form[action$="/move-timer"] [name=when]`, "3h")
	b.press(`form[action$="/move-timer"] button`)
	b.sees("Timer later was moved")
	b.press(`form[action$="/cancel-timer"] button`)
	b.sees("will not fire")
}

func queried(t *testing.T, w *world, b *browserTab) {
	b.t = t
	const statement = "SELECT repository, count(*) AS commits FROM commits GROUP BY repository ORDER BY repository"
	var want struct{ Rows [][]json.RawMessage }
	if err := json.Unmarshal([]byte(w.ask("/api/v1/sql", map[string]any{"query": statement})), &want); err != nil || len(want.Rows) == 0 {
		t.Fatalf("%v %v", want, err)
	}
	b.goTo("/data/sql")
	b.fill("#sql", statement)
	b.press(".stack button")
	var got [][]string
	b.do(chromedp.Evaluate(`[...document.querySelectorAll("#answer tbody tr")].map((row) => [...row.cells].map((c) => c.innerText))`, &got))
	if len(got) != len(want.Rows) {
		t.Fatalf("%d rows on the page, %d by the API", len(got), len(want.Rows))
	}
	for i, row := range want.Rows {
		if got[i][0] != strings.Trim(string(row[0]), `"`) || got[i][1] != string(row[1]) {
			t.Errorf("row %d: %v on the page, %s by the API", i, got[i], row)
		}
	}
	if !b.is(`document.querySelectorAll(".chart rect").length > 1`) {
		t.Error("there is no chart")
	}
	saved(t, w, b)
	b.goTo("/data?kind=issues&state=open")
	var lines int
	b.do(chromedp.Evaluate(`fetch(document.querySelector('a[download$=".jsonl"]').href).then((r) => r.text()).then((t) => t.trim().split("\n").length)`, &lines, chromedp.EvalAsValue, awaited))
	var open struct{ Items []json.RawMessage }
	if err := json.Unmarshal([]byte(w.Get("/api/v1/documents/issues?state=open&limit=1000")), &open); err != nil || lines != len(open.Items) || lines < 1 {
		t.Errorf("the download of a selection has %d lines, the API's list %d, %v", lines, len(open.Items), err)
	}
}

// listed compares a list of documents with the API's, and opens one of them.
func listed(t *testing.T, w *world, b *browserTab) {
	b.t = t
	var want struct{ Items []struct{ Title string } }
	if err := json.Unmarshal([]byte(w.Get("/api/v1/documents/issues?state=open&limit=50&sort=-created")), &want); err != nil || len(want.Items) == 0 {
		t.Fatalf("%v %v", want, err)
	}
	b.goTo("/data?kind=issues")
	b.fill(".filters [name=state]", "open", ".filters [name=sort]", "-created")
	b.press(".filters button")
	var got []string
	b.do(chromedp.Evaluate(`(() => { const at = [...document.querySelectorAll("#documents th")].findIndex((h) => h.innerText === "title"); return [...document.querySelectorAll("#documents tbody tr")].map((r) => r.cells[at].innerText); })()`, &got))
	if len(got) != len(want.Items) {
		t.Fatalf("%d documents on the page, %d by the API", len(got), len(want.Items))
	}
	for i := range got {
		if got[i] != want.Items[i].Title {
			t.Errorf("%d: %q on the page, %q by the API", i, got[i], want.Items[i].Title)
		}
	}
	b.press(`#documents a[href*="/data/issues/"]`)
	b.sees("As the upstream sent it")
	if got := b.says("#history"); !strings.Contains(strings.ToLower(got), "created") {
		t.Errorf("its history is %s", got)
	}
	copied(t, b)
	b.sees(want.Items[0].Title)
}

func filtered(t *testing.T, b *browserTab) {
	b.t = t
	b.goTo("/jobs")
	b.fill(".filters [name=type]", "REPO_ISSUES", ".filters [name=status]", "SUCCEEDED")
	b.press(".filters button")
	b.sees("REPO_ISSUES")
	b.do(chromedp.Reload(), chromedp.WaitReady("main", chromedp.ByQuery))
	if !b.is(`document.querySelector("[name=type]").value === "REPO_ISSUES" && document.querySelector("[name=status]").value === "SUCCEEDED"`) {
		t.Error("the filters are gone")
	}
	if !b.is(`[...document.querySelectorAll("tbody tr")].every((r) => r.cells[2].innerText === "REPO_ISSUES")`) {
		t.Error("other jobs are shown")
	}
}

func keepsTyped(t *testing.T, b *browserTab) {
	b.t = t
	b.goTo("/timers")
	b.fill("[name=id]", "tea", "[name=when]", "2h", "[name=payload]", "{minutes")
	b.press(`form[action$="/set-timer"] button`)
	b.sees("the payload is not JSON")
	b.toldOf(http.StatusUnprocessableEntity)
	if !b.is(`document.querySelector("[name=payload]").value === "{minutes" && document.querySelector("[name=id]").value === "tea" && location.pathname === "/timers"`) {
		t.Error("what was typed is gone")
	}
}

// fitsPhones looks at every page on a narrow screen.
func fitsPhones(t *testing.T, b *browserTab, login string) {
	b.t = t
	b.shows(390, 844, true, "light")
	defer b.shows(1360, 900, false, "light")
	for _, path := range []string{"/", "/accounts", "/accounts/" + login, "/runs", "/runs/1", "/jobs", "/jobs/1", "/data?kind=issues", "/refresh", "/timers", "/system", "/data/sql"} {
		b.goTo(path)
		if !b.is(`document.documentElement.scrollWidth <= document.documentElement.clientWidth`) {
			t.Errorf("%s is wider than the screen", path)
		}
		if !b.is(`[...document.querySelectorAll("table.stacks")].every((t) => t.scrollWidth <= t.clientWidth + 1)`) {
			t.Errorf("%s has a table that is cut off", path)
		}
	}
	b.goTo("/runs")
	if !b.is(`getComputedStyle(document.querySelector("tbody td:nth-child(5)"), "::before").content === '"Calls"'`) {
		t.Error("a cell does not say what it is")
	}
}

func paused(t *testing.T, b *browserTab) {
	b.t = t
	b.goTo("/")
	b.do(chromedp.WaitVisible("#live", chromedp.ByQuery), chromedp.Click("#live", chromedp.ByQuery))
	if b.says("#live-text") != "paused" {
		t.Errorf("it says %q", b.says("#live-text"))
	}
	b.do(chromedp.Click("#live", chromedp.ByQuery))
	if b.says("#live-text") == "paused" {
		t.Error("it stays paused")
	}
}

// readsOnly logs in as somebody who may look, and tries to act all the same.
func readsOnly(t *testing.T, w *world) {
	var made struct{ Token string }
	status, text := w.Call(http.MethodPost, "/api/v1/tokens", `{"name":"viewer","role":"read"}`)
	if err := json.Unmarshal([]byte(text), &made); err != nil || status != http.StatusCreated {
		t.Fatalf("%d %v", status, err)
	}
	b := open(t, w.URL)
	b.logIn(made.Token)
	for path := range pages {
		b.goTo(path)
		if b.is(`document.querySelector('main form[method=post]') !== null`) {
			t.Errorf("%s has a form that changes something", path)
		}
	}
	if strings.Contains(b.says("main"), sluice.APISecret) {
		t.Error("a secret is shown")
	}
	b.goTo("/timers")
	var answer string
	b.do(chromedp.Evaluate(`fetch("/act/set-timer", {method: "POST", headers: {Accept: "text/html"}, body: new URLSearchParams({id: "forbidden", when: "1h", next: "/timers"})}).then((r) => r.text())`, &answer, chromedp.EvalAsValue, awaited))
	if !strings.Contains(answer, "needs the role operate") {
		t.Errorf("it is told %s", answer)
	}
	b.toldOf(http.StatusForbidden)
	if status, _ := w.Call(http.MethodGet, "/api/v1/timers/forbidden", ""); status != http.StatusNotFound {
		t.Errorf("the timer was set: %d", status)
	}
	if entries := w.Get("/api/v1/audit?actor=token:viewer"); !strings.Contains(entries, "set-timer") {
		t.Errorf("the attempt is not in the audit log: %s", entries)
	}
	b.wasQuiet()
}
