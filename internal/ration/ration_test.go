package ration_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/internal/domain"
	"sluice/internal/ration"
)

var now = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

func answer(headers ...string) *ration.Answer {
	a := &ration.Answer{Status: 200, Header: http.Header{}, At: now}
	for i := 0; i < len(headers); i += 2 {
		a.Header.Add(headers[i], headers[i+1])
	}
	return a
}

// TestForms: an instant is read in the form that is declared, and in no other.
func TestForms(t *testing.T) {
	in90 := now.Add(90 * time.Second)
	for _, c := range []struct {
		text string
		as   ration.Form
		want time.Time
	}{
		{"1795003290", ration.Epoch, in90},
		{"1795003290.25", ration.Epoch, in90.Add(250 * time.Millisecond)},
		{"1795003290000", ration.EpochMilli, in90},
		{"90", ration.Delta, in90}, {"90.5", ration.Delta, in90.Add(500 * time.Millisecond)}, {" 0 ", ration.Delta, now},
		{"90000", ration.DeltaMilli, in90},
		{"2026-11-18T12:01:30Z", ration.ISO, in90}, {"2026-11-18T21:01:30+09:00", ration.ISO, in90},
		{"2026-11-18T12:01:30.000+0000", ration.ISO, in90}, {"2026-11-18 12:01:30", ration.ISO, in90}, {"2026-11-18T12:01Z", ration.ISO, in90.Add(-30 * time.Second)},
		{"Wed, 18 Nov 2026 12:01:30 GMT", ration.HTTPDate, in90},
	} {
		got, err := ration.ParseInstant(c.text, c.as, now)
		if err != nil || !got.Equal(c.want) {
			t.Errorf("%q as %s is %v, %v; want %v", c.text, c.as, got, err, c.want)
		}
	}
	for _, c := range []struct {
		text string
		as   ration.Form
	}{
		{"90", ration.Epoch}, {"1795003290", ration.Delta}, {"1795003290", ration.EpochMilli}, {"1795003290000", ration.Epoch},
		{"-5", ration.Delta}, {"NaN", ration.Delta}, {"1e300", ration.Epoch}, {"", ration.ISO}, {"soon", ration.HTTPDate}, {"5", "minutes"},
	} {
		if got, err := ration.ParseInstant(c.text, c.as, now); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%q as %s is read as %v, %v", c.text, c.as, got, err)
		}
	}
}

// TestReadings are the headers of the upstreams that the model is made for.
func TestReadings(t *testing.T) {
	gitlab := ration.Read{Limit: h("RateLimit-Limit"), Remaining: h("RateLimit-Remaining"), Reset: ration.Field{Header: "RateLimit-Reset", As: ration.Epoch}}
	reddit := ration.Read{Used: h("X-Ratelimit-Used"), Remaining: h("X-Ratelimit-Remaining"), Reset: ration.Field{Header: "X-Ratelimit-Reset", As: ration.Delta}}
	shopify := ration.Read{Used: h("X-Shopify-Shop-Api-Call-Limit")}
	body := ration.Read{Limit: ration.Field{Body: "max"}, Remaining: ration.Field{Body: "left"}}
	ietf := ration.Read{IETF: true}
	in30 := now.Add(30 * time.Second)
	of := func(limit, left int, reset time.Time) ration.Reading {
		return ration.Reading{Limit: limit, Left: left, HasLeft: true, Reset: reset}
	}
	withBody := answer()
	withBody.Body = func(path string) string { return map[string]string{"max": "1000", "left": "996.5"}[path] }
	burst, daily := of(100, 50, in30), of(1000, 0, time.Time{})
	burst.Policy, burst.Window = "burst", time.Minute
	daily.Policy, daily.Window, daily.HasLeft = "daily", 24*time.Hour, false
	bytes := of(0, 7, in30)
	bytes.Policy, bytes.Partition = "b", "c2hvcA=="
	for name, c := range map[string]struct {
		read ration.Read
		a    *ration.Answer
		want []ration.Reading
	}{
		"GitLab":                {gitlab, answer("RateLimit-Limit", "2000", "RateLimit-Remaining", "1999", "RateLimit-Reset", "1795003230"), []ration.Reading{of(2000, 1999, in30)}},
		"Reddit":                {reddit, answer("x-ratelimit-used", "4", "x-ratelimit-remaining", "95.7", "x-ratelimit-reset", "30"), []ration.Reading{of(0, 95, in30)}},
		"Shopify":               {shopify, answer("X-Shopify-Shop-Api-Call-Limit", "32/40"), []ration.Reading{of(40, 8, time.Time{})}},
		"a body":                {body, withBody, []ration.Reading{of(1000, 996, time.Time{})}},
		"IETF":                  {ietf, answer("RateLimit-Policy", `"burst";q=100;w=60, "daily";q=1000;w=86400`, "RateLimit", `"burst";r=50;t=30`), []ration.Reading{burst, daily}},
		"IETF with a partition": {ietf, answer("RateLimit", `"b";r=7;t=30;pk=:c2hvcA==:`), []ration.Reading{bytes}},
		"IETF, older":           {ietf, answer("RateLimit-Limit", "100, 100;w=60", "RateLimit-Remaining", "3", "RateLimit-Reset", "30"), []ration.Reading{of(100, 3, in30)}},
		"nothing":               {ietf, answer(), nil},
	} {
		got, problems := c.read.Of(c.a)
		if len(problems) > 0 || len(got) != len(c.want) {
			t.Errorf("%s: %+v, %v", name, got, problems)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %+v, want %+v", name, got[i], c.want[i])
			}
		}
	}
	if _, problems := ietf.Of(answer("RateLimit", `"burst;r=50`)); len(problems) != 1 {
		t.Errorf("a field that is cut brings %v", problems)
	}
	if got, problems := gitlab.Of(answer("RateLimit-Limit", "2000", "RateLimit-Reset", "30")); len(problems) != 1 || len(got) != 1 || !got[0].Reset.IsZero() {
		t.Errorf("a delay where an instant was declared brings %+v, %v", got, problems)
	}
	many, _ := ietf.Of(answer("RateLimit", `"a";r=5;t=1, "b";r=2;t=9, "c";r=2;t=30`, "RateLimit-Policy", `"z";q=1;qu="concurrent-requests"`))
	if least := ration.Tightest(many); least == nil || least.Policy != "c" {
		t.Errorf("the tightest of %+v is %+v", many, least)
	}
}

func h(name string) ration.Field { return ration.Field{Header: name} }

// TestPark reads how long to stay away.
func TestPark(t *testing.T) {
	p := ration.Park{On: []int{429}, For: h("Retry-After"), Else: time.Minute, What: ration.WhoOwner}
	const longest = 400 * 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"": time.Minute, "7": 7 * time.Second, "Wed, 18 Nov 2026 12:00:09 GMT": 9 * time.Second, "x": time.Minute, "-5": time.Minute, "NaN": time.Minute,
		// Years are years; an instant in their place is meant as one.
		"63072000": longest, "1e300": longest, "Wed, 18 Nov 2099 12:00:09 GMT": longest, "1795003209": 9 * time.Second,
	} {
		a := answer("Retry-After", text)
		a.Status = 429
		if got, hit := p.Hit(a); !hit || got != want {
			t.Errorf("%q parks for %s, %v", text, got, hit)
		}
	}
	if _, hit := p.Hit(answer("Retry-After", "7")); hit {
		t.Error("a good answer parks")
	}
	p.For = ration.Field{Header: "X-Again", As: ration.Epoch}
	a := answer("X-Again", "5000000000")
	a.Status = 429
	if got, hit := p.Hit(a); !hit || got != longest {
		t.Errorf("an instant in years parks for %s, %v", got, hit)
	}
	p.For, p.What = ration.Field{Body: "backoff", As: ration.Delta}, "nobody"
	a = answer()
	a.Status, a.Body = 429, func(string) string { return "12" }
	if got, hit := p.Hit(a); !hit || got != 12*time.Second || p.Check() == nil {
		t.Errorf("parks for %s, %v, %v", got, hit, p.Check())
	}
}

// TestTook reads what a call took.
func TestTook(t *testing.T) {
	points := ration.Ration{Unit: ration.UnitPoints, Actual: h("X-Cost")}
	for text, want := range map[string]int{"12": 12, "0": 0, "1.2": 2, " 7 ": 7, "": -1, "x": -1, "-3": -1, "NaN": -1, "1e300": -1} {
		n, known := points.Took(answer("X-Cost", text))
		if known != (want >= 0) || known && n != want {
			t.Errorf("%q took %d, %v", text, n, known)
		}
	}
	a := answer()
	a.Size = 1234
	if n, known := (&ration.Ration{Unit: ration.UnitBytes}).Took(a); !known || n != 1234 {
		t.Errorf("an answer of 1234 bytes took %d, %v", n, known)
	}
	if _, known := (&ration.Ration{Unit: ration.UnitCalls}).Took(a); known {
		t.Error("a call tells what it took")
	}
}

// TestMatch compares paths piece by piece.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, method, path string
		want                  bool
	}{
		{"/groups/*/projects", "GET", "/groups/7/projects", true}, {"/groups/*/projects", "GET", "/groups/7/8/projects", false},
		{"/groups/*/projects", "GET", "/groups//projects", false}, {"/groups/*/projects", "GET", "/groups/7/projects/1", false},
		{"POST /search", "GET", "/search", false}, {"post /search", "POST", "/search", true},
		{"/repos/**", "GET", "/repos/a/b/c", true}, {"/repos/**", "GET", "/repos", true}, {"/repos/**", "GET", "/reposit", false}, {"/**", "GET", "/x", true},
	} {
		m, err := ration.ParseMatch(c.pattern)
		if got := m.Applies(c.method, c.path, ""); err != nil || got != c.want {
			t.Errorf("%s %s by %q: %v, %v", c.method, c.path, c.pattern, got, err)
		}
	}
	for _, bad := range []string{"", "groups", "/a?b=1", "/a/**/b", "G3T /a", "/{x}"} {
		if _, err := ration.ParseMatch(bad); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if !(ration.Match{Stream: "issues"}).Applies("GET", "/x", "issues") || (ration.Match{Stream: "issues"}).Applies("GET", "/x", "notes") {
		t.Error("a stream is not matched by its name")
	}
}

// TestCheck refuses what cannot be kept, and names the remedy.
func TestCheck(t *testing.T) {
	minute := ration.Period{Length: time.Minute}
	good := ration.Ration{Name: "r", Per: []ration.Dimension{ration.PerOwner}, Unit: ration.UnitCalls, Calls: 100, Every: minute, Shape: ration.Fixed}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for says, change := range map[string]func(*ration.Ration){
		"shape": func(r *ration.Ration) { r.Shape = "round" }, "unit": func(r *ration.Ration) { r.Unit = "kilos" },
		"per:": func(r *ration.Ration) { r.Per = nil }, "how much": func(r *ration.Ration) { r.Calls = 0 },
		"how long": func(r *ration.Ration) { r.Every = ration.Period{} }, "leave out every": func(r *ration.Ration) { r.Shape = ration.Concurrent },
		"refills": func(r *ration.Ration) { r.Refill = 1 }, "shares": func(r *ration.Ration) { r.Use = 101 },
		"leave nothing": func(r *ration.Ration) { r.Keep = 100 }, "cannot be per": func(r *ration.Ration) { r.Per = []ration.Dimension{"planet"} },
		"as: one of": func(r *ration.Ration) { r.Read.Reset = h("X-Reset") },
		"elsewhere":  func(r *ration.Ration) { r.Read.Limit = ration.Field{Header: "L", As: ration.Epoch} },
		"negative":   func(r *ration.Ration) { r.Cost = -1 }, "how many points": func(r *ration.Ration) { r.Unit = ration.UnitPoints },
		"is more than":     func(r *ration.Ration) { r.Reserve = 101 },
		"let more":         func(r *ration.Ration) { r.Shape, r.Refill, r.Hard = ration.Bucket, 50, 149 },
		"leave out actual": func(r *ration.Ration) { r.Actual = h("X-Cost") },
		"leave out unit": func(r *ration.Ration) {
			r.Unit, r.Shape, r.Every = ration.UnitBytes, ration.Concurrent, ration.Period{}
		},
	} {
		bad := good
		change(&bad)
		if err := bad.Check(); domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	learnt := ration.Ration{Name: "l", Per: []ration.Dimension{ration.HeaderDimension("X-Bucket")}, Unit: ration.UnitCalls, Shape: ration.Fixed, Read: ration.Read{IETF: true}}
	if err := learnt.Check(); err != nil || learnt.Per[0].Header() != "X-Bucket" || ration.PerKey.Header() != "" {
		t.Errorf("what is learnt need not be told: %v", err)
	}
}

// TestCalendar: windows of the calendar follow each other without a gap, and each
// instant is in its own.
func TestCalendar(t *testing.T) {
	seoul, err := ration.ParsePeriod("day", "Asia/Seoul")
	if err != nil {
		t.Fatal(err)
	}
	from, to, _ := seoul.Window(now)
	if want := time.Date(2026, 11, 17, 15, 0, 0, 0, time.UTC); !from.Equal(want) || to.Sub(from) != 24*time.Hour {
		t.Errorf("the day in Seoul is %s to %s", from, to)
	}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"", "Asia/Seoul", "Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "America/Havana", "Australia/Lord_Howe"}).Draw(t, "zone")
		part := rapid.SampledFrom([]string{"minute", "hour", "day", "month"}).Draw(t, "part")
		at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0)
		p, err := ration.ParsePeriod(part, zone)
		if err != nil {
			t.Fatal(err)
		}
		from, to, known := p.Window(at)
		if !known || at.Before(from) || !at.Before(to) || to.Sub(from) > p.Length {
			t.Fatalf("%s is in %s to %s of %s", at, from, to, p)
		}
		if next, _, _ := p.Window(to); !next.Equal(to) {
			t.Fatalf("after %s comes %s", to, next)
		}
		if again, end, _ := p.Window(from); !again.Equal(from) || !end.Equal(to) {
			t.Fatalf("%s to %s, and from its beginning %s to %s", from, to, again, end)
		}
	})
	for _, bad := range [][2]string{{"0s", ""}, {"-1m", ""}, {"week", ""}, {"9000h", ""}, {"1m", "UTC"}, {"day", "Mars/North"}, {"day", "../etc/passwd"}, {"day", "Local"}} {
		if p, err := ration.ParsePeriod(bad[0], bad[1]); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%v is %v, %v", bad, p, err)
		}
	}
}

// TestShares: what is used is never more than what is granted, and what is not
// urgent never more than that.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := ration.Ration{
			Calls: rapid.IntRange(1, 1<<52).Draw(t, "calls"), Keep: rapid.IntRange(0, 1<<20).Draw(t, "keep"),
			Use: rapid.IntRange(0, 100).Draw(t, "use"), Low: rapid.IntRange(0, 100).Draw(t, "low"),
		}
		if r.Usable() > r.Calls || r.UsableLow() > r.Usable() {
			t.Fatalf("%+v: %d, %d", r, r.Usable(), r.UsableLow())
		}
	})
	maple := ration.Ration{Calls: 500, Use: 90, Low: 70}
	if maple.Usable() != 450 || maple.UsableLow() != 350 {
		t.Errorf("of 500 are used %d and %d", maple.Usable(), maple.UsableLow())
	}
}
