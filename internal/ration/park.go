package ration

import (
	"slices"
	"time"

	"sluice/internal/domain"
)

// Park says when an upstream wants to be left alone, for how long, and who waits.
type Park struct {
	// On are the statuses that say so.
	On []int
	// For is the field that says how long: Retry-After with a delay or a date where
	// its form is not told. Else is what holds where it says nothing; zero leaves it
	// to whoever keeps the ration, which doubles its pause.
	For  Field
	Else time.Duration
	// After is the field of a good answer that says how long to stay away once it was
	// read.
	After Field
	What  Who
}

// Who waits.
type Who string

// Those that can wait.
const (
	WhoOwner  Who = "owner"
	WhoKey    Who = "key"
	WhoStream Who = "stream"
	WhoSource Who = "source"
)

// Whos are all that can wait.
func Whos() []Who { return []Who{WhoOwner, WhoKey, WhoStream, WhoSource} }

// DefaultPark is what holds where nothing is declared: 429 and 503, for as long as
// Retry-After says.
func DefaultPark() Park {
	return Park{On: []int{429}, For: Field{Header: "Retry-After"}, What: WhoOwner}
}

// Check says what is wrong with it.
func (p *Park) Check() error {
	for _, status := range p.On {
		if status < 200 || status > 599 {
			return domain.Errorf(domain.CodeInvalid, "park: %d is not a status of an answer; give some such as [429, 503]", status)
		}
	}
	switch {
	case !slices.Contains(Whos(), p.What):
		return domain.Errorf(domain.CodeInvalid, "park: %q cannot wait; give one of %q", p.What, Whos())
	case !p.After.IsZero() && !slices.Contains(Forms(), p.After.As):
		return domain.Errorf(domain.CodeInvalid, "park: after must say how it is written; give as: one of %q", Forms())
	case p.For.As != "" && !slices.Contains(Forms(), p.For.As):
		return domain.Errorf(domain.CodeInvalid, "park: there is no form %q; there are %q", p.For.As, Forms())
	case p.Else < 0:
		return domain.Errorf(domain.CodeInvalid, "park: nobody waits for %s", p.Else)
	}
	return nil
}

// Afterwards is how long a good answer wants to be left alone after it; 0 if it does
// not say.
func (p *Park) Afterwards(a *Answer) time.Duration {
	text := p.After.Text(a)
	if text == "" {
		return 0
	}
	t, err := ParseInstant(text, p.After.As, a.At)
	if err != nil {
		return 0
	}
	return max(t.Sub(a.At), 0)
}

// Hit says whether an answer wants whoever asked to stay away, and how long; zero if
// it does not say.
func (p *Park) Hit(a *Answer) (wait time.Duration, hit bool) {
	if !slices.Contains(p.On, a.Status) {
		return 0, false
	}
	text := p.For.Text(a)
	if text == "" {
		return p.Else, true
	}
	if p.For.As == "" {
		if d, ok := RetryAfter(text, a.At); ok {
			return d, true
		}
		return p.Else, true
	}
	t, err := ParseInstant(text, p.For.As, a.At)
	if err != nil {
		if beyond(text, p.For.As, a.At) {
			return longest, true
		}
		return p.Else, true
	}
	return max(t.Sub(a.At), 0), true
}
