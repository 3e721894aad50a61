package ration

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
)

// Form is how an upstream writes an instant. The same name of a header is an
// instant for some and a delay for others, so a ration must say which.
type Form string

// The forms.
const (
	Epoch      Form = "epoch"     // seconds since 1970, also with decimals
	EpochMilli Form = "epoch_ms"  // milliseconds since 1970
	Delta      Form = "delta"     // seconds from now, also with decimals
	DeltaMilli Form = "delta_ms"  // milliseconds from now
	ISO        Form = "iso"       // 2026-11-18T12:00:00Z and its relatives
	HTTPDate   Form = "http-date" // Wed, 18 Nov 2026 12:00:00 GMT
)

// Forms are all that there are.
func Forms() []Form { return []Form{Epoch, EpochMilli, Delta, DeltaMilli, ISO, HTTPDate} }

// longest is how far from now an instant may lie: what claims more is misdated,
// or written in another form.
const longest = 400 * 24 * time.Hour

// isoLayouts are tried in their order. An instant without a zone is one of UTC.
var isoLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999", "2006-01-02",
}

// ParseInstant reads an instant of a form; now is what delays are counted from.
func ParseInstant(text string, as Form, now time.Time) (time.Time, error) {
	text = strings.Trim(strings.TrimSpace(text), `"`)
	t, ok := parseInstant(text, as, now)
	if !ok {
		return time.Time{}, domain.Errorf(domain.CodeInvalid, "%q is not an instant written as %s", shorten(text), as)
	}
	if t.Sub(now).Abs() > longest {
		return time.Time{}, domain.Errorf(domain.CodeInvalid, "%q, read as %s, is %s: is it written in another form?", shorten(text), as, t.UTC().Format(time.RFC3339))
	}
	return t.UTC(), nil
}

func parseInstant(text string, as Form, now time.Time) (time.Time, bool) {
	switch as {
	case Epoch, EpochMilli, Delta, DeltaMilli:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || math.Abs(n) > 1e15 {
			return time.Time{}, false
		}
		if as == EpochMilli || as == DeltaMilli {
			n /= 1000
		}
		whole, part := math.Modf(n)
		if as == Epoch || as == EpochMilli {
			// Doubles hold microseconds of our time, and no more.
			return time.Unix(int64(whole), int64(math.Round(part*1e6))*1000), true
		}
		if n < 0 || n > longest.Seconds() {
			return time.Time{}, false
		}
		return now.Add(time.Duration(whole)*time.Second + time.Duration(math.Round(part*1e9))), true
	case ISO:
		return parseISO(text)
	case HTTPDate:
		t, err := http.ParseTime(text)
		return t, err == nil
	}
	return time.Time{}, false
}

func parseISO(text string) (time.Time, bool) {
	for _, layout := range isoLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// GuessInstant reads an instant whose form is not declared: ISO 8601, an HTTP date,
// or a number of seconds or milliseconds since 1970. For the versions of records,
// where being wrong is seen at once; never for a ration.
func GuessInstant(text string) (time.Time, bool) {
	text = strings.TrimSpace(text)
	if t, ok := parseISO(text); ok {
		return t.UTC(), true
	}
	if t, err := http.ParseTime(text); err == nil {
		return t.UTC(), true
	}
	for _, layout := range []string{time.RFC1123Z, time.RFC822Z} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || n < 1e8 || n >= 1e14:
		return time.Time{}, false
	case n >= 1e11:
		return time.UnixMilli(int64(n)).UTC(), true
	}
	return time.Unix(int64(n), 0).UTC(), true
}

// RetryAfter reads how long an upstream wants to be left alone: seconds, or an
// HTTP date. Some write the instant in seconds since 1970 instead.
func RetryAfter(text string, now time.Time) (time.Duration, bool) {
	for _, as := range []Form{Delta, HTTPDate, Epoch} {
		if t, err := ParseInstant(text, as, now); err == nil {
			return max(t.Sub(now), 0), true
		}
	}
	for _, as := range []Form{Delta, HTTPDate} {
		if beyond(text, as, now) {
			return longest, true
		}
	}
	return 0, false
}

// beyond says whether a text tells of a longer wait than the longest: whoever wants to
// be left alone for years is left alone for as long as can be.
func beyond(text string, as Form, now time.Time) bool {
	text = strings.Trim(strings.TrimSpace(text), `"`)
	if as == Delta || as == DeltaMilli {
		n, err := strconv.ParseFloat(text, 64)
		return err == nil && n > longest.Seconds()
	}
	t, ok := parseInstant(text, as, now)
	return ok && t.After(now.Add(longest))
}

// largest amount that is believed; beyond it no count is exact.
const largest = 1 << 53

// ParseAmount reads an amount: 12, 12.0, or 32/40, which is taken and granted. Of a
// fraction of a unit what is left is rounded down.
func ParseAmount(text string) (n int, of int, ok bool) {
	first, second, pair := strings.Cut(strings.Trim(strings.TrimSpace(text), `"`), "/")
	if n, ok = parseCount(first); !ok || !pair {
		return n, 0, ok
	}
	of, ok = parseCount(second)
	return n, of, ok
}

func parseCount(text string) (int, bool) {
	text = strings.TrimSpace(text)
	// Several windows in one header, as 100, 100;w=60: the first is the tightest.
	if at := strings.IndexAny(text, ",;"); at >= 0 {
		text = strings.TrimSpace(text[:at])
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > largest {
		return 0, false
	}
	return int(math.Floor(f)), true
}

func shorten(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
