package web_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
)

var pictures = flag.String("screenshots", "", "write a picture of every page, light and dark, desktop and phone, into this folder")

// awaited waits for what a promise comes to.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// axe is the program that judges whether everybody can use a page.
func axe(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("SLUICE_WEB_TOOLS")
	if folder == "" {
		root, err := testkit.Repository()
		if err != nil {
			t.Fatal(err)
		}
		folder = filepath.Join(root, ".tools", "web")
	}
	found, err := filepath.Glob(filepath.Join(folder, "axe-*.js"))
	if err != nil || len(found) == 0 {
		testkit.Lacks(t, "axe-core", "there is no axe-core in .tools/web; run scripts/web-tools, which needs npm and its registry")
		return ""
	}
	text, err := os.ReadFile(found[len(found)-1])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// finding is what axe-core has against a page.
type finding struct {
	ID, Impact, Help string
	Nodes            []struct{ HTML string }
}

// TestEverybodyCanUseIt has axe-core look at every page, light and dark, and takes
// pictures if it is told to.
func TestEverybodyCanUseIt(t *testing.T) {
	judge := axe(t)
	w := start(t, 3)
	logins := w.upstream.Logins()
	w.collected(logins[:2]...)
	b := open(t, w.URL)
	b.logIn(w.Token)
	// The last account is being collected while everything is looked at.
	hold := make(chan struct{})
	defer close(hold)
	w.upstream.Before(sim.PathContains("/issues"), holdAll, func() { <-hold })
	under := w.Signup(logins[2], w.upstream.Token(logins[2]))
	w.dies(b, "item-equipment:00000000000000000000000000000001")
	w.ask("/api/v1/timers", map[string]any{"id": "invoice-7", "in": "2h", "payload": map[string]int{"invoice": 7}})
	w.ask("/api/v1/timers", map[string]any{"id": "reminder", "in": "30m"})
	w.ask("/api/v1/timers", map[string]any{"id": "tea", "in": "10ms"})
	var document string
	all := map[string]string{
		"overview": "/", "accounts": "/accounts", "account": "/accounts/" + logins[0], "runs": "/runs", "run": "/runs/2", "run-active": fmt.Sprintf("/runs/%d", under), "jobs": "/jobs", "job": "/jobs/1",
		"data": "/data?kind=issues", "search": "/data?q=pars*", "sql": "/data/sql?sql=SELECT+repository,+count(*)+AS+commits+FROM+commits+GROUP+BY+repository+ORDER+BY+commits+DESC", "refresh": "/refresh",
		"dead-letters": "/dead-letters", "timers": "/timers", "system": "/system", "confirm": "/confirm/retry-jobs?run=2", "error": "/runs/99999",
	}
	b.goTo("/data?kind=issues")
	b.do(chromedp.AttributeValue(`#documents a`, "href", &document, nil, chromedp.ByQuery))
	all["document"] = document
	for name, path := range all {
		for _, scheme := range []string{"light", "dark"} {
			b.shows(1360, 900, false, scheme)
			b.goTo(path)
			judged(t, b, judge, name+" "+scheme)
			if *pictures != "" {
				b.picture(filepath.Join(*pictures, name+"-"+scheme+"-desktop.png"), 1400)
				b.shows(390, 844, true, scheme)
				b.goTo(path)
				b.picture(filepath.Join(*pictures, name+"-"+scheme+"-phone.png"), 2400)
			}
		}
	}
	b.shows(1360, 900, false, "light")
	b.press(`form[action$="/logout"] button`)
	judged(t, b, judge, "login")
}

func judged(t *testing.T, b *browserTab, judge, page string) {
	t.Helper()
	var found []finding
	b.do(chromedp.Evaluate(judge+`; axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.map((v) => ({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.slice(0, 3).map((n) => ({HTML: n.html}))})))`,
		&found, chromedp.EvalAsValue, awaited))
	for _, f := range found {
		if f.Impact != "serious" && f.Impact != "critical" {
			continue
		}
		var where []string
		for _, n := range f.Nodes {
			where = append(where, n.HTML)
		}
		t.Errorf("%s: %s (%s): %s", page, f.Help, f.ID, strings.Join(where, "\n"))
	}
}
