package declared_test

import (
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/source"
	"sluice/internal/source/declared"
	"sluice/internal/source/sourcetest"
)

const shop = `
source: shop
config: {url: https://shop.example}
target: shop
base: "{config.url}/v1/{target}"
auth: {header: X-Key}
ration:
  all: {per: key, calls: 100, every: 1m, keep: 10,
        read: {limit: RateLimit-Limit, remaining: RateLimit-Remaining, reset: {header: RateLimit-Reset, as: epoch}}}
streams:
  orders:
    get: /orders
    page: {type: page, param: page, size: {per_page: 2}, total: total}
    records: items
    key: id
    version: updated
    title: name
    columns: {price: {at: price, type: integer, doc: what it costs}, tags: {at: tags, type: list}}
  lines:
    of: orders
    get: "/orders/{orders.id}/lines"
    key: [orders.id, n]
    gone: [404]
`

func load(t *testing.T, text string) *declared.File {
	t.Helper()
	f, mistakes := declared.Load([]byte(text))
	if err := mistakes.Err("test.yaml"); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestConformance holds a declared source against what every source promises.
func TestConformance(t *testing.T) {
	sourcetest.Run(t, sourcetest.Factory{
		New: func(t *testing.T, url string) source.Source {
			s, err := declared.New(load(t, shop), declared.Options{Config: map[string]string{"url": url}})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Run:    domain.Run{ID: 7, AccountID: 3, Source: "shop", Login: "acme", Anchor: time.Now()},
		Token:  "secret-of-acme",
		Logins: []string{"a b", "/a", "a/../b"},
	})
}
