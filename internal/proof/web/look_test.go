package web_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// shownPage is a page that is looked at.
type shownPage struct{ name, path string }

// TestEverybodyCanUseIt has axe-core look at every page, light and dark, and takes
// pictures if it is told to.
func TestEverybodyCanUseIt(t *testing.T) {
	judge := axe(t)
	// The ration is enough for the first two accounts, and not for those after them.
	w := startOn(t, sim.Options{Accounts: 5, Limits: sim.Limits{CoreLimit: 30}})
	b := open(t, w.URL)
	b.logIn(w.Token)
	all := busy(t, w, b)
	for _, page := range all {
		for _, scheme := range []string{"light", "dark"} {
			b.shows(1360, 900, false, scheme)
			b.goTo(page.path)
			judged(t, b, judge, page.name+" "+scheme)
			if *pictures != "" {
				b.picture(filepath.Join(*pictures, page.name+"-"+scheme+"-desktop.png"), 1400)
				b.shows(390, 844, true, scheme)
				b.goTo(page.path)
				b.picture(filepath.Join(*pictures, page.name+"-"+scheme+"-phone.png"), 2400)
			}
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		b.shows(1360, 900, false, scheme)
		if scheme == "light" {
			b.press(`form[action$="/logout"] button`)
		}
		judged(t, b, judge, "login "+scheme)
	}
}

// busy has accounts that were collected, one that waits for its ration, one that is
// being collected and one that is paused, and returns the pages that show it all; those
// that move come first.
func busy(t *testing.T, w *world, b *browserTab) []shownPage {
	logins := w.upstream.Logins()
	w.collected(logins[:2]...)
	rationed := w.Signup(logins[2], w.upstream.Token(logins[2]))
	b.goTo(fmt.Sprintf("/runs/%d", rationed))
	b.sees("its ration is used up")
	w.dies(b, "item-equipment:00000000000000000000000000000001", "item-equipment:00000000000000000000000000000002")
	w.ask("/api/v1/refresh", map[string]any{"source": "maplestory", "keys": []string{"item-equipment:" + w.game.Ocids()[0], "item-equipment:" + w.game.Ocids()[1]}})
	for id, in := range map[string]string{"invoice-7": "2h", "reminder": "30m", "nightly-report": "1h15m", "renew-lease": "31m", "tea": "10ms", "egg": "20ms"} {
		w.ask("/api/v1/timers", map[string]any{"id": id, "in": in, "payload": map[string]string{"for": id}})
	}
	w.sells()
	w.put("/api/v1/queries/commits-by-month", map[string]any{"query": byMonth, "about": "How much is done"})
	// What is collected while everything is looked at is answered slowly, and in the end
	// not at all.
	answers := make(chan struct{})
	w.upstream.Before(sim.PathContains("/repositories/"), holdAll, func() {
		select {
		case <-answers:
		case <-t.Context().Done():
		}
	})
	under := w.Signup(logins[3], w.upstream.Token(logins[3]))
	w.Signup(logins[4], w.upstream.Token(logins[4]))
	w.ask("/api/v1/accounts/"+logins[4]+"/pause", map[string]any{"reason": "its owner asked for it"})
	b.goTo("/")
	if *pictures != "" {
		// The curve of calls is drawn while somebody looks.
		for range 8 {
			select {
			case answers <- struct{}{}:
			case <-t.Context().Done():
			}
			b.do(chromedp.Sleep(time.Second))
		}
	}
	var document string
	b.goTo("/data?kind=issues")
	b.do(chromedp.AttributeValue(`#documents a`, "href", &document, nil, chromedp.ByQuery))
	return []shownPage{
		{"overview", "/"}, {"run-active", fmt.Sprintf("/runs/%d", under)}, {"run-waiting", fmt.Sprintf("/runs/%d", rationed)}, {"runs", "/runs"}, {"account-active", "/accounts/" + logins[3]},
		{"accounts", "/accounts"}, {"account", "/accounts/" + logins[0]}, {"account-paused", "/accounts/" + logins[4]}, {"run", "/runs/2"}, {"jobs", "/jobs"}, {"job", "/jobs/1"}, {"jobs-failed", "/jobs?status=FAILED"},
		{"data", "/data?kind=issues"}, {"document", document}, {"search", "/data?q=pars*"}, {"sql", "/data/sql?query=commits-by-month"},
		{"sql-columns", "/data/sql?sql=SELECT+repository,+count(*)+AS+commits+FROM+commits+GROUP+BY+repository+ORDER+BY+commits+DESC"},
		{"refresh", "/refresh"}, {"refresh-key", "/refresh?source=maplestory&key=item-equipment:" + w.game.Ocids()[0]}, {"dead-letters", "/dead-letters"}, {"timers", "/timers"}, {"system", "/system"}, {"sink", "/sinks/hook"},
		{"sources", "/sources"}, {"source", "/sources/shop"}, {"source-shipped", "/sources/gitlab"}, {"source-built-in", "/sources/github"}, {"confirm-source", "/confirm/remove-source?source=shop"},
		{"confirm", "/confirm/retry-jobs?run=2"}, {"error", "/runs/99999"},
	}
}

// byMonth draws a line for each of two numbers.
const byMonth = "SELECT substr(cast(authored_at AS char(40)), 1, 7) AS month, count(*) AS commits, count(DISTINCT repository) AS repositories FROM commits WHERE NOT deleted GROUP BY 1 ORDER BY 1"

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
