package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestBehindAProxy opens the dashboard below a path of a reverse proxy, which takes the
// path away or leaves it, and calls the service by another name than browsers do.
func TestBehindAProxy(t *testing.T) {
	w := start(t, 1, "--path-prefix", "/sluice", "--trusted-proxies", "127.0.0.1/32")
	w.collected(w.upstream.Logins()...)
	for name, strips := range map[string]bool{"that takes the prefix away": true, "that leaves it": false} {
		t.Run(name, func(t *testing.T) { proxied(t, w, strips) })
	}
}

func proxied(t *testing.T, w *world, strips bool) {
	service, err := url.Parse(w.URL)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(service)
		r.SetXForwarded()
		r.Out.URL.Path, r.Out.URL.RawPath = r.In.URL.Path, r.In.URL.RawPath
		if strips {
			r.Out.URL.Path, r.Out.URL.RawPath = strings.TrimPrefix(r.In.URL.Path, "/sluice"), strings.TrimPrefix(r.In.URL.RawPath, "/sluice")
		}
	}}
	mux := http.NewServeMux()
	mux.Handle("/sluice/", pass)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("%s leads out of the prefix", r.URL.Path)
		http.NotFound(w, r)
	})
	proxy := httptest.NewServer(mux)
	defer proxy.CloseClientConnections()
	b := open(t, proxy.URL)
	b.goTo("/sluice/runs?status=COMPLETED")
	b.fill("#token", w.Token)
	b.press(".stack button")
	if !b.is(`location.pathname + location.search === "/sluice/runs?status=COMPLETED"`) {
		t.Errorf("after the login: %s", b.says("main"))
	}
	for _, page := range []string{"accounts", "sources", "runs", "jobs", "data", "refresh", "timers", "system"} {
		b.press(`nav a[href="/sluice/` + page + `"]`)
		if !b.is(`location.pathname === "/sluice/` + page + `" && document.querySelector("h1") !== null`) {
			t.Errorf("%s is not where it should be", page)
		}
	}
	// A form goes through it, and the stream of events comes.
	b.goTo("/sluice/timers")
	b.fill("[name=id]", "egg", "[name=when]", "2s")
	b.press(`form[action$="/set-timer"] button`)
	b.sees("Timer egg is set")
	b.do(chromedp.PollFunction(`() => document.querySelector("#part-done").innerText.includes("egg")`, nil, chromedp.WithPollingTimeout(patience)))
	b.goTo("/sluice/data?kind=issues")
	if command := b.says("#same-0"); !strings.Contains(command, proxy.URL+"/sluice/api/v1/documents/issues") {
		t.Errorf("what is to be copied names another host: %s", command)
	}
	b.press("#documents a")
	b.sees("As the upstream sent it")
	var lines int
	b.goTo("/sluice/data?kind=issues")
	b.do(chromedp.Evaluate(`fetch(document.querySelector('a[download$=".csv"]').href).then((r) => r.text()).then((t) => t.trim().split("\n").length)`, &lines, chromedp.EvalAsValue, awaited))
	if lines < 2 {
		t.Errorf("the download has %d lines", lines)
	}
	for _, page := range []string{"docs", "docs/problems"} {
		b.goTo("/sluice/" + page)
		if !b.is(`document.styleSheets.length === 1 && document.styleSheets[0].cssRules.length > 0`) {
			t.Errorf("%s has no style", page)
		}
	}
	b.press(`a[href$="docs"]`)
	b.sees("The API of Sluice")
	b.goTo("/sluice/runs")
	b.press(`form[action$="/logout"] button`)
	if !b.is(`location.pathname === "/sluice/login"`) {
		t.Error("logging out leads elsewhere")
	}
	b.goTo("/sluice/")
	if got := b.says("h1"); got != "Log in to Sluice" {
		t.Errorf("after logging out it shows %s", got)
	}
	b.wasQuiet()
}
