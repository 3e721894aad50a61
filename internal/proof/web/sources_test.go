package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	simulated "sluice/internal/simulator/declared"
	"sluice/internal/source/declared"
)

// shopFile describes an upstream.
const shopFile = `source: shop
title: The shop
base: https://shop.example/v1
auth: bearer
ration:
  all: {per: key, calls: 20, every: 1s, shape: sliding}
streams:
  orders:
    get: /orders
    page: {type: page, param: page, size: {per_page: 50}, total: total}
    records: items
    key: id
    version: updated_at
`

// shop is the upstream that the file describes.
func shop(t *testing.T) (url string) {
	t.Helper()
	f, mistakes := declared.Load([]byte(shopFile))
	if err := mistakes.Err("the file"); err != nil {
		t.Fatal(err)
	}
	text, err := f.Simulated()
	if err != nil {
		t.Fatal(err)
	}
	spec, err := simulated.ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := simulated.New(spec, simulated.Options{Seed: 1, Records: 60})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	return server.URL
}

// sells adds a source with an account that was collected, and a probe of it.
func (w *world) sells() {
	w.T.Helper()
	w.ask("/api/v1/sources", map[string]any{"file": shopFile, "set": map[string]string{"base": shop(w.T)}})
	w.ask("/api/v1/accounts", map[string]any{"source": "shop", "login": "acme", "token": "a-token-of-acme"})
	w.ask("/api/v1/sources/shop/probe", map[string]any{"target": "acme"})
}

// addsSources adds a file on the page, with a mistake first, collects it, tries it out,
// and removes it.
func addsSources(t *testing.T, w *world, b *browserTab) {
	b.t = t
	url := shop(t)
	b.goTo("/sources")
	b.sees("Stack Exchange")
	b.fill("#add [name=file]", strings.Replace(shopFile, "streams:", "streems:", 1))
	b.press("#add button")
	b.toldOf(http.StatusUnprocessableEntity)
	b.sees(`did you mean "streams"?`)
	if !b.is(`document.querySelector("#add [name=file]").value.includes("streems")`) {
		t.Error("what was typed is gone")
	}
	b.goTo("/sources")
	b.fill("#add [name=file]", shopFile, "#add [name=set]", "base="+url)
	b.press("#add button")
	b.sees("shop was added")
	b.sees("pages by page, all at once")
	b.sees("shop_orders")
	b.goTo("/accounts")
	b.do(chromedp.SetValue("#add [name=source]", "shop", chromedp.ByQuery))
	b.fill("#add [name=login]", "acme", "#add [name=token]", "a-token-of-acme")
	b.press("#add button")
	b.sees("is collected")
	b.do(chromedp.PollFunction(`() => document.querySelector("#part-account, #part-state") !== null`, nil, chromedp.WithPollingTimeout(patience)))
	b.goTo("/sources/shop")
	b.fill("#probe [name=target]", "acme")
	b.press("#probe button")
	b.sees("What a probe showed")
	b.sees("GET " + url + "/orders")
	b.press(`a[href$="/confirm/remove-source?source=shop"]`)
	b.sees("Purge them first")
	b.goTo("/sources/pokeapi")
	b.press(`form[action$="/add-source"] button`)
	b.sees("pokeapi was added")
	b.press(`a[href$="/confirm/remove-source?source=pokeapi"]`)
	b.press(`form[action$="/remove-source"] button`)
	b.sees("pokeapi was removed")
}
