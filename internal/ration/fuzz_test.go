package ration_test

import (
	"net/http"
	"testing"
	"time"

	"sluice/internal/ration"
)

// FuzzHeaders: whatever an upstream writes, nothing breaks, and what is read can
// be kept: no amount is negative, no end is years away.
func FuzzHeaders(f *testing.F) {
	for _, seed := range [][3]string{
		{`"burst";q=100;w=60, "daily";q=1000;w=86400`, `"burst";r=50;t=30`, "30"},
		{`default;q=1;qu="content-bytes";pk=:AAAA:`, `default;r=0`, "Wed, 18 Nov 2026 12:00:09 GMT"},
		{`a;q=-1;w=999999999999999`, `a;r=1.5;t=?1`, "1795003290"},
		{`"\"x";q=%"y"`, `@5;r=@7`, "2026-11-18T12:00:00Z"},
	} {
		f.Add(seed[0], seed[1], seed[2], "32/40")
	}
	f.Fuzz(func(t *testing.T, policy, limit, reset, amount string) {
		a := &ration.Answer{Status: 429, Header: http.Header{}, At: now}
		a.Header["Ratelimit-Policy"], a.Header["Ratelimit"] = []string{policy}, []string{limit}
		a.Header["X-Reset"], a.Header["X-Used"], a.Header["Retry-After"] = []string{reset}, []string{amount}, []string{reset}
		for _, form := range ration.Forms() {
			r := ration.Read{IETF: true, Used: ration.Field{Header: "X-Used"}, Remaining: ration.Field{Header: "X-Used"}, Reset: ration.Field{Header: "X-Reset", As: form}}
			readings, _ := r.Of(a)
			for _, g := range readings {
				if g.Limit < 0 || g.Left < 0 || g.Window < 0 || !g.Known() {
					t.Fatalf("%+v", g)
				}
				if !g.Reset.IsZero() && g.Reset.Sub(now).Abs() > 401*24*time.Hour {
					t.Fatalf("it ends at %s", g.Reset)
				}
			}
		}
		p := ration.DefaultPark()
		if wait, hit := p.Hit(a); !hit || wait < 0 || wait > 401*24*time.Hour {
			t.Fatalf("wait %s, %v", wait, hit)
		}
		if at, ok := ration.GuessInstant(reset); ok && at.IsZero() {
			t.Fatalf("%q is no instant", reset)
		}
	})
}
