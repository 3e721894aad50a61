package web_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// searched compares what words find with what the API finds; the index may be a
// moment behind.
func searched(t *testing.T, w *world, b *browserTab) {
	b.t = t
	var some struct{ Items []struct{ Title string } }
	if err := json.Unmarshal([]byte(w.Get("/api/v1/documents/issues?limit=1")), &some); err != nil || len(some.Items) == 0 {
		t.Fatalf("%v %v", some, err)
	}
	word := strings.Fields(some.Items[0].Title)[0]
	b.goTo("/data")
	b.fill(".filters [name=q]", word, ".filters [name=kind]", "issues")
	b.press(".filters button")
	for !b.is(`document.querySelector("#hits a") !== null`) {
		b.do(chromedp.Reload(), chromedp.WaitReady("main", chromedp.ByQuery))
	}
	var want struct{ Items []struct{ Title string } }
	if err := json.Unmarshal([]byte(w.Get("/api/v1/search?limit=50&kind=issues&q="+word)), &want); err != nil || len(want.Items) == 0 {
		t.Fatalf("%v %v", want, err)
	}
	var titles, got []string
	for _, item := range want.Items {
		titles = append(titles, item.Title)
	}
	b.do(chromedp.Evaluate(`[...document.querySelectorAll("#hits li > a")].map((a) => a.innerText)`, &got))
	if !slices.Equal(got, titles) {
		t.Errorf("%v on the page, %v by the API", got, titles)
	}
	if !b.is(`document.querySelectorAll("#hits mark").length > 0`) {
		t.Error("what matches is not marked")
	}
}

// saved gives the statement on the page a name, finds it, and has it forgotten.
func saved(t *testing.T, w *world, b *browserTab) {
	b.do(chromedp.Click("details summary", chromedp.ByQuery))
	b.fill("details [name=name]", "by-repository", "details [name=about]", "Where the work is")
	b.press("details button")
	b.sees("Query by-repository is saved")
	b.goTo("/data/sql")
	b.press(`#saved a[href*="query=by-repository"]`)
	if !b.is(`document.querySelectorAll(".chart rect").length > 1 && document.querySelector("#sql").value.includes("GROUP BY")`) {
		t.Error("the saved query draws nothing")
	}
	if got := w.Get("/api/v1/queries/by-repository"); !strings.Contains(got, "Where the work is") {
		t.Errorf("the API has %s", got)
	}
	b.press("#saved form button")
	b.sees("is forgotten")
}

// copied presses the button that copies a command, under the policy of the pages.
func copied(t *testing.T, b *browserTab) {
	// A browser without a window has no clipboard to read.
	b.do(chromedp.Evaluate(`navigator.clipboard.writeText = async (text) => { window.copied = text; }; document.querySelector("[data-copy=same-1]").click()`, nil))
	b.do(chromedp.PollFunction(`() => document.querySelector("[data-copy=same-1]").innerText.toLowerCase() === "copied"`, nil, chromedp.WithPollingTimeout(patience)))
	var text string
	b.do(chromedp.Evaluate(`window.copied`, &text))
	if !strings.HasPrefix(text, "sluice doc get issues ") {
		t.Errorf("copied was %q", text)
	}
}

// overTime draws months from an example, keeps it under a name, and finds it drawn there.
func overTime(t *testing.T, b *browserTab) {
	b.t = t
	const drawn = `document.querySelector(".chart polyline")?.getAttribute("points").split(" ").length > 2 && document.querySelectorAll(".chart text").length > 3`
	b.goTo("/data/sql")
	b.press(`a[href*="month"]`)
	if !b.is(drawn) {
		t.Errorf("months are not drawn: %s", b.says("main"))
	}
	b.do(chromedp.Click("details summary", chromedp.ByQuery))
	b.fill("details [name=name]", "months")
	b.press("details button")
	b.sees("Query months is saved")
	if !b.is(`location.search === "?query=months" && ` + drawn) {
		t.Error("the saved query is not drawn")
	}
	b.press("#saved form button")
	b.sees("is forgotten")
}

// downloaded takes what the links of a list lead to.
func downloaded(t *testing.T, w *world, b *browserTab) {
	b.t = t
	var want struct{ Items []json.RawMessage }
	if err := json.Unmarshal([]byte(w.Get("/api/v1/documents/issues?state=closed&limit=1000")), &want); err != nil || len(want.Items) == 0 {
		t.Fatalf("%v %v", want, err)
	}
	b.goTo("/data?kind=issues&state=closed")
	var csv, lines int
	var parquet string
	b.do(chromedp.Evaluate(`fetch(document.querySelector('a[download$=".jsonl"]').href).then((r) => r.text()).then((t) => t.trim().split("\n").filter((l) => JSON.parse(l)).length)`, &lines, chromedp.EvalAsValue, awaited))
	b.do(chromedp.Evaluate(`fetch(document.querySelector('a[download$=".csv"]').href).then((r) => r.text()).then((t) => t.trim().split("\n").length - 1)`, &csv, chromedp.EvalAsValue, awaited))
	b.do(chromedp.Evaluate(`fetch(document.querySelector('a[download$=".parquet"]').href).then((r) => r.text()).then((t) => t.slice(0, 4) + t.slice(-4))`, &parquet, chromedp.EvalAsValue, awaited))
	if lines != len(want.Items) || csv < len(want.Items) || parquet != "PAR1PAR1" {
		t.Errorf("%d lines of JSON and %d of CSV for %d documents; Parquet is %q", lines, csv, len(want.Items), parquet)
	}
}
