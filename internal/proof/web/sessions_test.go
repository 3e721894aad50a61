package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// another opens a second tab of the same browser.
func (b *browserTab) another() *browserTab {
	b.t.Helper()
	ctx, end := chromedp.NewContext(b.ctx)
	b.t.Cleanup(end)
	other := &browserTab{t: b.t, ctx: ctx, base: b.base, events: map[network.RequestID]bool{}, changed: make(chan struct{})}
	chromedp.ListenTarget(ctx, other.heard)
	other.do(network.Enable())
	return other
}

// loggedOut logs out in one tab: the others show nothing more by themselves.
func loggedOut(t *testing.T, w *world) {
	b := open(t, w.URL)
	b.t = t
	b.logIn(w.Token)
	b.sees("Overview")
	other := b.another()
	other.goTo("/")
	other.sees("Overview")
	b.press(`form[action$="/logout"] button`)
	other.isShut()
	// Going back shows nothing of it either.
	b.do(chromedp.ActionFunc(func(ctx context.Context) error { return chromedp.NavigateBack().Do(ctx) }))
	b.isShut()
	if text := b.says("body"); strings.Contains(text, "Rations") {
		t.Errorf("after logging out a page is still there: %s", text)
	}
}

// isShut waits until the tab shows nothing but the login, where it goes by itself: what
// watches a page ends with it, and begins again on the next.
func (b *browserTab) isShut() {
	b.t.Helper()
	for {
		err := chromedp.Run(b.ctx, chromedp.PollFunction(`() => document.querySelector("h1")?.innerText === "Log in to Sluice"`, nil, chromedp.WithPollingTimeout(patience)))
		if err == nil {
			return
		}
		if b.ctx.Err() != nil || !leaves(err) {
			b.t.Fatalf("the tab does not show the login: %v", err)
		}
	}
}

// leaves tells whether what watches a page ended because the tab went to another.
func leaves(err error) bool {
	return strings.Contains(err.Error(), "navigated") || strings.Contains(err.Error(), "Cannot find context")
}

// unseen hides a tab and looks whether it gives its stream back: a browser has six
// connections for a host, and the seventh tab would wait for ever.
func unseen(t *testing.T, b *browserTab) {
	b.t = t
	// Of streams of pages that were left nobody hears.
	b.goTo("/login")
	b.mu.Lock()
	clear(b.events)
	b.mu.Unlock()
	b.goTo("/")
	b.streams(1)
	b.do(chromedp.Evaluate(`Object.defineProperty(document, "hidden", {configurable: true, get: () => true}); document.dispatchEvent(new Event("visibilitychange"))`, nil))
	b.streams(0)
	b.do(chromedp.Evaluate(`delete document.hidden; document.dispatchEvent(new Event("visibilitychange"))`, nil))
	b.streams(1)
}

// streams waits until the tab has so many streams of events open.
func (b *browserTab) streams(want int) {
	b.t.Helper()
	for {
		b.mu.Lock()
		open, changed := len(b.events), b.changed
		b.mu.Unlock()
		if open == want {
			return
		}
		select {
		case <-changed:
		case <-b.ctx.Done():
			b.t.Fatalf("%d streams are open, not %d", open, want)
		}
	}
}

// inert opens pages with texts that would act if a page took them for its own.
func inert(t *testing.T, w *world, b *browserTab) {
	b.t = t
	const evil = `"><img src=x onerror="window.acted=1"><script>window.acted=2</script>`
	w.ask("/api/v1/timers", map[string]any{"id": "evil", "in": "3h", "payload": map[string]string{"x": evil}})
	w.put("/api/v1/queries/evil", map[string]any{"query": "SELECT '" + evil + "' AS a, 1 AS b UNION ALL SELECT 'x', 2", "about": evil})
	for _, path := range []string{
		"/timers", "/data/sql?query=evil", "/data?q=" + quotedParameter(evil), "/data?kind=issues&state=" + quotedParameter(evil), "/jobs?type=" + quotedParameter(evil),
		"/runs?account=" + quotedParameter(evil), "/accounts?login=" + quotedParameter(evil), "/refresh?key=" + quotedParameter(evil), "/system?actor=" + quotedParameter(evil),
		"/confirm/retry-jobs?type=" + quotedParameter(evil),
	} {
		b.goTo(path)
		if !b.is(`window.acted === undefined && document.querySelector("main img") === null`) {
			t.Errorf("%s carries out what it shows", path)
		}
	}
	b.goTo("/data/sql?query=evil")
	b.sees(evil)
}

// looksAfter does with an account what people do, and removes it after its name was
// typed.
func looksAfter(t *testing.T, w *world, b *browserTab, login string) {
	b.t = t
	page := "/accounts/" + login
	b.goTo(page)
	b.press(`form[action$="/pause-account"] button`)
	b.sees("is paused")
	b.sees("paused on the dashboard")
	b.press(`form[action$="/resume-account"] button`)
	b.sees("goes on")
	b.do(chromedp.Evaluate(`document.querySelectorAll("details").forEach((d) => { d.open = true; })`, nil))
	b.fill("[name=every]", "5h")
	b.press(`form[action$="/set-schedule"] button`)
	b.sees("was set")
	if got := w.Get("/api/v1/accounts/" + login); !strings.Contains(got, `"every":"5h`) {
		t.Errorf("the API has %s", got)
	}
	b.fill(`form[action$="/purge-account"] [name=typed]`, "somebody")
	b.press(`form[action$="/purge-account"] button`)
	b.sees("nothing was removed")
	b.toldOf(http.StatusUnprocessableEntity)
	b.fill(`form[action$="/purge-account"] [name=typed]`, login)
	b.press(`form[action$="/purge-account"] button`)
	b.sees("was removed")
	if status, _ := w.Call(http.MethodGet, "/api/v1/documents/issues?account="+login, ""); status == http.StatusOK {
		t.Error("its documents are still there")
	}
}

// away: of a service that is not reached a page says since when, and counts no further.
func away(t *testing.T, b *browserTab) {
	b.t = t
	b.goTo("/")
	b.sees("Overview")
	b.do(network.EmulateNetworkConditions(true, 0, -1, -1))
	b.do(chromedp.PollFunction(`() => document.querySelector("#outage[role=status]")?.innerText.includes("has not been reached since")`, nil, chromedp.WithPollingTimeout(patience)))
	b.do(network.EmulateNetworkConditions(false, 0, -1, -1))
	b.do(chromedp.PollFunction(`() => document.querySelector("#outage") === null`, nil, chromedp.WithPollingTimeout(patience)))
}

// pausedElsewhere has an account paused over the API: its page says so by itself.
func pausedElsewhere(t *testing.T, w *world, b *browserTab, login string) {
	b.t = t
	b.goTo("/accounts/" + login)
	b.do(chromedp.PollFunction(`() => document.querySelector("#part-head form[action$='/pause-account']") !== null`, nil, chromedp.WithPollingTimeout(patience)))
	w.ask("/api/v1/accounts/"+login+"/pause", map[string]string{"reason": "a holiday"})
	b.do(chromedp.PollFunction(`() => document.querySelector("#part-head .badge").innerText === "paused" && document.querySelector("#part-head button[disabled]") !== null`, nil, chromedp.WithPollingTimeout(patience)))
	w.ask("/api/v1/accounts/"+login+"/resume", nil)
	b.do(chromedp.PollFunction(`() => document.querySelector("#part-head form[action$='/start-run']") !== null`, nil, chromedp.WithPollingTimeout(patience)))
}
