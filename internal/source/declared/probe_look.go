package declared

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/ration"
)

// probeLook gathers what answers of a probe show.
type probeLook struct {
	s   *Source
	out *Probed
	// tag is that of the first page, and same says that asking with it was answered
	// with nothing changed.
	tag  string
	same bool
	// seen are the answers in their order.
	answers []*answer
	ration  []string
	streams []streamLines
}

// streamLines are what a stream lacks.
type streamLines struct {
	name  string
	lines []string
}

func (l *probeLook) say(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.out.Seen, text) {
		l.out.Seen = append(l.out.Seen, text)
	}
}

func (l *probeLook) answer(stream *Stream, a *answer, again bool) {
	l.answers = append(l.answers, a)
	if after := a.header.Get("Retry-After"); after != "" {
		l.say("Retry-After: %s on an answer %d", shorten(after, 60), a.status)
	}
	switch {
	case again:
		l.same = a.status == http.StatusNotModified
		return
	case a.status != http.StatusOK:
		l.say("%s is answered %d: pages and times cannot be looked at", stream.Name, a.status)
		return
	case !a.json.Exists():
		l.say("%s is answered with something that is not JSON", stream.Name)
		return
	}
	if len(l.streams) == 0 {
		l.tag = a.header.Get("ETag")
	}
	lines := l.pages(stream, a)
	l.streams = append(l.streams, streamLines{stream.Name, append(lines, l.records(stream, a)...)})
}

// propose writes what the file lacks.
func (l *probeLook) propose() {
	l.rates()
	if l.tag != "" && len(l.streams) > 0 {
		stream := l.s.file.Stream(l.streams[0].name)
		switch {
		case !l.same:
			l.say("ETag: there is one, but asking with it is answered as if without: conditional: etag saves nothing")
		case stream.etag, !stream.listing(), slices.ContainsFunc(stream.Children, (*Stream).perParent):
			l.say("ETag: asking with it is answered 304")
		default:
			l.say("ETag: asking with it is answered 304")
			l.streams[0].lines = append(l.streams[0].lines, "conditional: etag")
		}
	}
	var out strings.Builder
	if len(l.ration) > 0 {
		out.WriteString("ration:\n")
		for _, line := range l.ration {
			out.WriteString("  " + line + "\n")
		}
	}
	begun := false
	for _, s := range l.streams {
		if len(s.lines) == 0 {
			continue
		}
		if !begun {
			out.WriteString("streams:\n")
			begun = true
		}
		out.WriteString("  " + s.name + ":\n")
		for _, line := range s.lines {
			out.WriteString("    " + line + "\n")
		}
	}
	l.out.Lines = out.String()
}

// role is what a header tells of a ration, by how its name ends.
func role(name string) string {
	low := strings.ToLower(name)
	if !strings.Contains(low, "ratelimit") && !strings.Contains(low, "rate-limit") && !strings.Contains(low, "quota") && !strings.Contains(low, "call-limit") {
		return ""
	}
	for _, one := range []struct{ end, role string }{
		{"remaining", "remaining"}, {"left", "remaining"}, {"used", "used"}, {"call-limit", "used"}, {"reset-after", "reset"}, {"reset", "reset"}, {"limit", "limit"}, {"quota", "limit"},
	} {
		if strings.HasSuffix(low, one.end) {
			return one.role
		}
	}
	return "other"
}

// rates looks for headers that tell of rations, and proposes how to read them.
func (l *probeLook) rates() {
	if len(l.answers) == 0 {
		return
	}
	a := l.answers[0]
	if readings, _ := (ration.Read{IETF: true}).Of(a.ration()); len(readings) > 0 && (a.header.Get("RateLimit") != "" || a.header.Get("RateLimit-Policy") != "") {
		l.say("rate headers: RateLimit %q, RateLimit-Policy %q (IETF)", shorten(a.header.Get("RateLimit"), 100), shorten(a.header.Get("RateLimit-Policy"), 100))
		l.rationLines("read: ietf")
		return
	}
	found := map[string]string{}
	var names []string
	for name := range a.header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		r := role(name)
		if r == "" {
			continue
		}
		l.say("rate header: %s: %s", name, shorten(a.header.Get(name), 60))
		if found[r] == "" && r != "other" && headerName(name) {
			found[r] = name
		}
	}
	l.read(found)
}

func (l *probeLook) read(found map[string]string) {
	var parts []string
	for _, r := range []string{"limit", "remaining", "used"} {
		if found[r] == "" {
			continue
		}
		if _, _, ok := ration.ParseAmount(l.answers[0].header.Get(found[r])); ok {
			parts = append(parts, r+": "+found[r])
		}
	}
	if name := found["reset"]; name != "" {
		if as := l.form(name); as != "" {
			l.say("%s is written as %s", name, as)
			parts = append(parts, fmt.Sprintf("reset: {header: %s, as: %s}", name, as))
		} else {
			l.say("%s: the form of %q is not known", name, shorten(l.answers[0].header.Get(name), 60))
		}
	}
	if len(parts) == 0 {
		if len(found) == 0 {
			l.say("no header tells of a ration")
		}
		return
	}
	l.rationLines("read: {" + strings.Join(parts, ", ") + "}")
}

// rationLines proposes where a ration is read, unless the file says so already.
func (l *probeLook) rationLines(read string) {
	for i := range l.s.file.Rations {
		if r := &l.s.file.Rations[i]; r.Read.IETF || !r.Read.Remaining.IsZero() || !r.Read.Used.IsZero() {
			return
		}
	}
	per := "key"
	if !l.s.file.NeedsCredential() {
		per = "source"
	}
	l.ration = append(l.ration, "told: {per: "+per+", "+read+"}")
}

// form is how a header writes an instant: the one by which it lies ahead, but not far.
// Of two delays the one that shrinks as the clock goes is right.
func (l *probeLook) form(name string) ration.Form {
	text, at := l.answers[0].header.Get(name), l.answers[0].came
	for _, as := range []ration.Form{ration.ISO, ration.HTTPDate, ration.Epoch, ration.EpochMilli} {
		if t, err := ration.ParseInstant(text, as, at); err == nil && t.After(at.Add(-5*time.Minute)) && t.Before(at.Add(32*24*time.Hour)) {
			return as
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 {
		return ""
	}
	for _, later := range l.answers[1:] {
		m, err := strconv.ParseFloat(later.header.Get(name), 64)
		passed := later.came.Sub(at).Seconds()
		if err != nil || passed <= 0 || m >= n {
			continue
		}
		if (n-m)/passed > 100 {
			return ration.DeltaMilli
		}
		return ration.Delta
	}
	switch {
	case n <= 86400:
		return ration.Delta
	case n <= 86400_000:
		return ration.DeltaMilli
	}
	return ""
}

// places calls fn for every value of an object that is not in a list, with its path.
func places(v gjson.Result, path string, depth int, fn func(path, name string, v gjson.Result)) {
	if !v.IsObject() || depth > 3 {
		return
	}
	v.ForEach(func(key, one gjson.Result) bool {
		at := strings.TrimPrefix(path+"."+key.String(), ".")
		if checkPath(at) == "" && !strings.ContainsAny(at, " :,#'\"") {
			fn(at, strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key.String())), one)
			places(one, at, depth+1, fn)
		}
		return true
	})
}
