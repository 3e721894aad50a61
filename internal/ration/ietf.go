package ration

import (
	"strings"
	"time"

	"sluice/internal/domain"
)

// The fields of draft-ietf-httpapi-ratelimit-headers: RateLimit-Policy has what is
// granted (q) in a window of seconds (w), of some unit (qu); RateLimit what is left
// (r) and in how many seconds the window ends (t). Their drafts up to the sixth had
// three headers instead, and the delay in seconds too.
const (
	fieldPolicy = "RateLimit-Policy"
	fieldLimit  = "RateLimit"

	olderLimit     = "RateLimit-Limit"
	olderRemaining = "RateLimit-Remaining"
	olderReset     = "RateLimit-Reset"
)

// older reads what the older drafts had.
var older = Read{
	Limit: Field{Header: olderLimit}, Remaining: Field{Header: olderRemaining}, Reset: Field{Header: olderReset, As: Delta},
}

// readIETF reads what is granted and what is left, under the names that the upstream
// gives its policies.
func readIETF(a *Answer) (readings []Reading, problems []error) {
	policies, err := parseField(a, fieldPolicy)
	if err != nil {
		problems = append(problems, err)
	}
	limits, err := parseField(a, fieldLimit)
	if err != nil {
		problems = append(problems, err)
	}
	at := map[string]int{}
	reading := func(of item) *Reading {
		name := of.value.text + "\x00" + of.params["pk"].text
		i, met := at[name]
		if !met {
			i = len(readings)
			at[name] = i
			readings = append(readings, Reading{Policy: of.value.text, Partition: of.params["pk"].text})
		}
		return &readings[i]
	}
	for _, p := range policies {
		if p.value.kind == bareText {
			reading(p).policy(p)
		}
	}
	for _, l := range limits {
		if l.value.kind == bareText {
			reading(l).limit(l, a.At, policies)
		}
	}
	readings = deleteUnknown(readings)
	if len(readings) == 0 && a.Header.Get(olderRemaining) != "" {
		more, wrong := older.Of(a)
		return more, append(problems, wrong...)
	}
	return readings, problems
}

func deleteUnknown(readings []Reading) []Reading {
	kept := readings[:0]
	for _, r := range readings {
		if r.Known() {
			kept = append(kept, r)
		}
	}
	return kept
}

// parseField reads a field, also one whose list is in several headers.
func parseField(a *Answer, name string) ([]item, error) {
	values := a.Header.Values(name)
	if len(values) == 0 {
		return nil, nil
	}
	items, err := parseList(strings.Join(values, ", "))
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "%s: %w", name, err)
	}
	return items, nil
}

func (r *Reading) policy(p item) {
	if n, ok := p.whole("q"); ok {
		r.Limit = n
	}
	if n, ok := p.whole("w"); ok {
		r.Window = seconds(n)
	}
	if unit, ok := p.params["qu"]; ok {
		r.Unit = unitOf(unit.text)
	}
}

// limit adds what is left. A policy without a partition holds for all of them.
func (r *Reading) limit(l item, now time.Time, policies []item) {
	for _, p := range policies {
		if p.value.text == l.value.text && r.Limit == 0 && p.params["pk"].text == "" {
			r.policy(p)
		}
	}
	if n, ok := l.whole("r"); ok {
		r.Left, r.HasLeft = n, true
	}
	if n, ok := l.whole("t"); ok {
		r.Reset = now.Add(seconds(n)).UTC()
	}
}

func seconds(n int) time.Duration {
	return time.Duration(min(n, int(longest/time.Second))) * time.Second
}

// whole is a parameter that is a number of things.
func (i item) whole(name string) (int, bool) {
	v, ok := i.params[name]
	if !ok || v.kind != bareNumber || v.number < 0 || v.number > largest {
		return 0, false
	}
	return int(v.number), true
}

func unitOf(name string) Unit {
	switch name {
	case "content-bytes":
		return UnitBytes
	case "requests":
		return UnitCalls
	}
	// Calls at once, or something that a later version has: nothing that a window
	// of calls can be kept by.
	return Unit(name)
}
