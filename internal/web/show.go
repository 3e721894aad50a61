package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
)

// shown is how values look on pages.
type shown struct {
	prefix string
	now    func() time.Time
	// assets are the addresses of files, with what they hold.
	assets map[string]string
}

// functions are what templates show values with.
func (s *shown) functions() template.FuncMap {
	return template.FuncMap{
		"link": s.link, "asset": func(name string) string { return s.prefix + s.assets[name] }, "at": s.at, "until": s.until, "ago": func(t time.Time) string { return span(s.now().Sub(t)) },
		"n": number, "seconds": func(s *float64) string { return span(time.Duration(*s * float64(time.Second))) }, "span": span, "bytes": bytesText, "tone": tone, "runtone": runTone, "lost": lost, "percent": percent, "pretty": pretty, "short": short,
		"words": words, "list": func(items ...any) []any { return items }, "key": newKey, "join": strings.Join,
		"dict": dict, "params": params, "value": shownValue, "visible": domain.PrintableLines, "said": inPageWords, "tries": tries, "numeric": numeric, "instantly": func(column string) bool { return strings.HasSuffix(column, "_at") }, "plain": plainRation, "stored": func(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }, "late": lateness, "millis": func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }, "why": why, "bucket": bucketOf, "share": share, "left": leftTone, "timed": s.timed, "minus": func(a, b int64) int64 { return a - b }, "count": counted, "instant": instantText, "float": func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) },
	}
}

// link is an address of the dashboard, of its parts.
func (s *shown) link(parts ...any) string {
	var b strings.Builder
	b.WriteString(s.prefix)
	for _, p := range parts {
		fmt.Fprint(&b, p)
	}
	return b.String()
}

// params is a query of pairs of names and values.
func params(pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return q.Encode()
}

// dict has pairs of names and values, for parts that need more than one thing.
func dict(pairs ...any) (map[string]any, error) {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("%v is not a name", pairs[i])
		}
		out[name] = pairs[i+1]
	}
	return out, nil
}

// at shows an instant by how long ago it was, or how far it is; in full where one
// points at it. One that is not known is a dash.
func (s *shown) at(t time.Time) template.HTML {
	if t.IsZero() {
		return unknown
	}
	text, ahead := span(s.now().Sub(t))+" ago", ""
	if d := t.Sub(s.now()); d > 0 {
		text, ahead = "in "+span(d), " data-until"
	}
	return timeTag(t, text, ahead)
}

// until is a countdown.
func (s *shown) until(t time.Time) template.HTML {
	if t.IsZero() {
		return unknown
	}
	d := t.Sub(s.now())
	if d <= 0 {
		return timeTag(t, "now", " data-until")
	}
	return timeTag(t, "in "+span(d), " data-until")
}

const unknown template.HTML = `<span class="unknown" title="not known">–</span>`

func timeTag(t time.Time, text, attributes string) template.HTML {
	full := t.UTC().Format("2006-01-02 15:04:05 UTC")
	//nolint:gosec // made of a time and of words of this program
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s"%s>%s</time>`, t.UTC().Format(time.RFC3339), full, attributes, template.HTMLEscapeString(text)))
}

// span is a duration for people: two units at most.
func span(d time.Duration) string {
	if d < 0 {
		d = -d
	}
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return pair(int(d.Minutes()), "min", int(d.Seconds())%60, "s")
	case d < 48*time.Hour:
		return pair(int(d.Hours()), "h", int(d.Minutes())%60, "min")
	}
	return pair(int(d.Hours())/24, "d", int(d.Hours())%24, "h")
}

func pair(a int, unit string, b int, smaller string) string {
	if b == 0 || a >= 10 {
		return strconv.Itoa(a) + " " + unit
	}
	return strconv.Itoa(a) + " " + unit + " " + strconv.Itoa(b) + " " + smaller
}

// lateness is how late something fired, with tenths of what a machine does.
func lateness(ms float64) string {
	if ms >= 1000 {
		return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
	}
	return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
}

// number has groups of three digits, with narrow spaces.
func number(v any) string {
	var text string
	switch v := v.(type) {
	case *int64:
		return number(*v)
	case float64:
		if v != math.Trunc(v) && math.Abs(v) < 100 {
			return strconv.FormatFloat(v, 'f', 1, 64)
		}
		text = strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	default:
		text = fmt.Sprint(v)
	}
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "−", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return sign + text
}

func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	value, i := float64(n), -1
	for value >= unit && i < 4 {
		value, i = value/unit, i+1
	}
	return strconv.FormatFloat(value, 'f', 1, 64) + " " + string("KMGTP"[i]) + "iB"
}

// percent is a share; "–" of nothing.
func percent(part, whole any) string {
	p, w := asFloat(part), asFloat(whole)
	if w == 0 {
		return "–"
	}
	// What is not all is not shown as all.
	return strconv.Itoa(int(math.Floor(100*p/w))) + "\u202f%"
}

// share is a part of a whole as the width of a gauge, of a hundred. What is more than
// nothing is seen.
func share(part, whole any) string {
	p, w := asFloat(part), asFloat(whole)
	if p <= 0 || w <= 0 {
		return "0"
	}
	return strconv.FormatFloat(min(100, max(1, 100*p/w)), 'f', 1, 64)
}

// leftTone is the colour of what is left of a ration.
func leftTone(left, limit any) string {
	switch l, all := asFloat(left), asFloat(limit); {
	case all <= 0:
		return ""
	case l <= 0:
		return "bad"
	case l < all/10:
		return "warn"
	}
	return ""
}

// instants are those in a text for people.
var instants = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)\b`)

// timed shows a text with its instants as people see them elsewhere.
func (s *shown) timed(text string) template.HTML {
	var b strings.Builder
	last := 0
	for _, at := range instants.FindAllStringIndex(text, -1) {
		t, err := time.Parse(time.RFC3339, text[at[0]:at[1]])
		if err != nil {
			continue
		}
		b.WriteString(template.HTMLEscapeString(strings.TrimSuffix(text[last:at[0]], "at ")))
		b.WriteString(string(s.at(t)))
		last = at[1]
	}
	b.WriteString(template.HTMLEscapeString(text[last:]))
	return template.HTML(b.String()) //nolint:gosec // made of escaped text and of times
}

func asFloat(v any) float64 {
	f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil {
		return 0
	}
	return f
}

// tones are the colours of states.
var tones = map[string]string{
	"active": "good", "following": "good", "backfilling": "busy", "starting": "busy", "stopped": "calm", "elsewhere": "calm", "COMPLETED": "good", "SUCCEEDED": "good", "FRESH": "good", "ok": "good", "closed": "good", "done": "good",
	"RUNNING": "busy", "PLANNING": "busy", "FINALIZING": "busy", "CREATED": "busy", "UPDATING": "busy", "DELIVERING": "busy",
	"READY": "calm", "WAITING": "calm", "CANCELED": "calm", "deleted": "calm", "NOT_FOUND": "calm",
	"paused": "warn", "PAUSED": "warn", "STALE": "warn", "half-open": "warn", "refused": "warn", "RETRYING": "warn", "unfinished": "warn",
	"FAILED": "bad", "DEAD": "bad", "failed": "bad", "open": "bad",
}

func tone(state any) string {
	text := fmt.Sprint(state)
	if t, ok := tones[text]; ok {
		return t
	}
	if t, ok := tones[strings.ToUpper(text)]; ok {
		return t
	}
	return "calm"
}

// runTone is the colour of a run: one that has completed without all that it planned
// is not simply good.
func runTone(r domain.Run) string {
	if r.Status == domain.RunCompleted && (r.Failed > 0 || r.Canceled > 0) {
		return "warn"
	}
	return tone(r.Status)
}

// lost says whether a run has completed without jobs that were dropped.
func lost(r domain.Run) bool { return r.Status == domain.RunCompleted && r.Canceled > 0 }

// reasons are what runs and rations wait for, in words. What is not here is said as it
// is: it is a sentence already, such as why an account is paused.
var reasons = map[string]string{
	"primary": "its ration is used up", "spent": "its ration is used up", "floor": "what is left of its ration is kept for its owner", "kept": "what is left of its ration is kept for its owner",
	"share": "the rest of its ration is for runs of high priority", "floor_all": "its whole ration is kept for its owner", "concurrency": "as many calls as may be are under way", "concurrent": "as many calls as may be are under way",
	"points": "its points of this minute are used up", "retry_after": "the upstream wants to be left alone", "parked": "the upstream wants to be left alone", "hours": "these hours are kept for its owner",
	"backoff": "the upstream refused, and did not say for how long", "trial": "one call goes first",
}

// why says what something waits for.
func why(reason any) string {
	if text, known := reasons[fmt.Sprint(reason)]; known {
		return text
	}
	return fmt.Sprint(reason)
}

// bucketOf names the ration of a lane, before what it waits for; "" for what is none.
func bucketOf(lane string) string {
	if i := strings.LastIndexByte(lane, '/'); i >= 0 {
		return lane[i+1:] + ": "
	}
	return ""
}

// words makes a state readable: NOT_FOUND is not found.
func words(v any) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(fmt.Sprint(v), "_", " "), "-", " "))
}

func pretty(raw json.RawMessage) string {
	var out bytes.Buffer
	if len(raw) == 0 || json.Indent(&out, raw, "", "  ") != nil {
		return domain.PrintableJSON(string(raw))
	}
	return domain.PrintableJSON(out.String())
}

func short(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// with is an address with other parameters: an empty value takes one away.
func with(u *url.URL, pairs ...string) string {
	q := u.Query()
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		} else {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return u.Path
	}
	return u.Path + "?" + q.Encode()
}

// value is a value of JSON as a cell of a table shows it.
func value(raw json.RawMessage) string {
	var text string
	switch {
	case string(raw) == "null":
		return "–"
	case json.Unmarshal(raw, &text) == nil:
		return text
	}
	return string(raw)
}

// shownValue is a value of JSON as people see it: what would turn the direction of
// writing, or could not be seen, is an escape.
func shownValue(raw json.RawMessage) string { return domain.PrintableLines(value(raw)) }

// tries is how often something was tried.
func tries(n any) string {
	if number(n) == "1" {
		return "one try"
	}
	return number(n) + " tries"
}

// numeric says whether a value of JSON is a number.
func numeric(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// counted is a number of things.
func counted(n any, thing string) string {
	text := number(n)
	if text == "1" {
		return text + " " + thing
	}
	return text + " " + thing + "s"
}

// instantText is a value of JSON; an instant to the minute.
func instantText(raw json.RawMessage) string {
	text := shownValue(raw)
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t.UTC().Format("2006-01-02 15:04")
	}
	return text
}
