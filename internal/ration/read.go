package ration

import (
	"net/http"
	"slices"
	"time"

	"sluice/internal/domain"
)

// Read says where an answer tells what is left of a ration.
type Read struct {
	// IETF reads the fields RateLimit and RateLimit-Policy, or the older RateLimit-Limit,
	// -Remaining and -Reset with a delay in seconds.
	IETF bool
	// Limit is what is granted, Remaining what is left and Used what is taken.
	Limit, Remaining, Used Field
	// Reset is when the window ends; its form must be told.
	Reset Field
	// Refill is what a bucket gets back in every period.
	Refill Field
}

// Field is one value of an answer: of a header, or at a path of the body.
type Field struct {
	Header, Body string
	// As is the form of an instant.
	As Form
}

// IsZero says whether there is none.
func (f Field) IsZero() bool { return f.Header == "" && f.Body == "" }

// Text is the value in an answer, "" if it is not there.
func (f Field) Text(a *Answer) string {
	switch {
	case f.Header != "":
		return a.Header.Get(f.Header)
	case f.Body != "" && a.Body != nil:
		return a.Body(f.Body)
	}
	return ""
}

// Answer is what is to be known of an answer.
type Answer struct {
	Status int
	Header http.Header
	// Body returns the text at a path of the body, "" if there is none; nil for a
	// body that cannot be read.
	Body func(path string) string
	// Size is how many bytes the body has.
	Size int
	// At is when the answer came, by the clock that delays are counted from.
	At time.Time
}

// Reading is what an answer told of a ration.
type Reading struct {
	// Policy names the ration where the upstream does (IETF); else "".
	Policy string
	// Limit is what is granted, 0 if that was not told; Left is what is left, and
	// HasLeft says that it was told.
	Limit, Left int
	HasLeft     bool
	// Reset is when the window ends, zero if that was not told; Window is how long
	// it is.
	Reset  time.Time
	Window time.Duration
	Refill int
	// Unit is what is counted, where the upstream says so.
	Unit Unit
	// Partition is what tells the counts of one policy apart.
	Partition string
}

// Known says whether anything was told.
func (r *Reading) Known() bool {
	return r.Limit > 0 || r.HasLeft || !r.Reset.IsZero() || r.Refill > 0
}

// Of reads an answer. Problems are what was there and could not be read: a
// reading without it follows all the same.
func (r Read) Of(a *Answer) (readings []Reading, problems []error) {
	if r.IETF {
		readings, problems = readIETF(a)
	}
	var own Reading
	own.readAmounts(r, a, &problems)
	if text := r.Reset.Text(a); text != "" {
		t, err := ParseInstant(text, r.Reset.As, a.At)
		if err != nil {
			problems = append(problems, err)
		}
		own.Reset = t
	}
	if own.Known() {
		readings = append(readings, own)
	}
	return readings, problems
}

func (r *Reading) readAmounts(from Read, a *Answer, problems *[]error) {
	amount := func(f Field) (n, of int, ok bool) {
		text := f.Text(a)
		if text == "" {
			return 0, 0, false
		}
		if n, of, ok = ParseAmount(text); !ok {
			*problems = append(*problems, domain.Errorf(domain.CodeInvalid, "%q is not an amount", shorten(text)))
		}
		return n, of, ok
	}
	if n, _, ok := amount(from.Limit); ok {
		r.Limit = n
	}
	if n, of, ok := amount(from.Used); ok {
		if of > 0 {
			r.Limit = of
		}
		if r.Limit > 0 {
			r.Left, r.HasLeft = max(r.Limit-n, 0), true
		}
	}
	if n, of, ok := amount(from.Remaining); ok {
		r.Left, r.HasLeft = n, true
		if of > 0 {
			r.Limit = of
		}
	}
	if n, _, ok := amount(from.Refill); ok {
		r.Refill = n
	}
}

// Tightest is the reading that leaves least, by what is left and else by what is
// granted; nil if there is none.
func Tightest(readings []Reading) *Reading {
	var least *Reading
	for i := range readings {
		r := &readings[i]
		if r.Unit != "" && r.Unit != UnitCalls || !r.HasLeft {
			continue
		}
		if least == nil || r.Left < least.Left || r.Left == least.Left && r.Reset.After(least.Reset) {
			least = r
		}
	}
	return least
}

func (r Read) check(name string) error {
	for _, f := range []Field{r.Limit, r.Remaining, r.Used, r.Refill} {
		if f.As != "" {
			return domain.Errorf(domain.CodeInvalid, "the ration %s: only reset is an instant; leave out as: %s elsewhere", name, f.As)
		}
	}
	if r.Reset.IsZero() {
		return nil
	}
	if !slices.Contains(Forms(), r.Reset.As) {
		return domain.Errorf(domain.CodeInvalid,
			"the ration %s: reset must say how it is written, since the same header is an instant for some upstreams and a delay for others; give as: one of %q", name, Forms())
	}
	return nil
}
