package declared

import (
	"fmt"
	"strings"

	"sluice/internal/ration"
)

// Explanation is what a file comes to, for people.
type Explanation struct {
	Source  string            `json:"source"`
	Title   string            `json:"title"`
	Target  string            `json:"target"`
	Auth    string            `json:"auth"`
	Config  map[string]string `json:"config,omitempty"`
	Rations []string          `json:"rations"`
	Streams []StreamPlan      `json:"streams"`
	Records []RecordPlan      `json:"records,omitempty"`
	// Granted is how the rations are kept for records, Tiers how often these are
	// refreshed before anybody asks.
	Granted  string   `json:"granted,omitempty"`
	Tiers    string   `json:"tiers,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// StreamPlan is how a stream is collected.
type StreamPlan struct {
	Name  string `json:"name"`
	Table string `json:"table"`
	Of    string `json:"of,omitempty"`
	First string `json:"first"`
	// Later is what the runs after the first ask for.
	Later string `json:"later"`
	// Gone is how it is found out what the upstream no longer has.
	Gone string `json:"gone"`
}

// Explain says what the file comes to: the plan that runs will make.
func (f *File) Explain() Explanation {
	e := Explanation{Source: f.Name, Title: f.Title, Target: f.Target, Config: f.Config, Warnings: f.Notes()}
	var ways []string
	for i := range f.auths {
		ways = append(ways, f.auths[i].text())
	}
	e.Auth = strings.Join(ways, "; or ")
	for i := range f.Rations {
		e.Rations = append(e.Rations, f.rationText(i))
	}
	f.explainRecords(&e)
	for _, s := range f.Streams {
		e.Streams = append(e.Streams, f.streamPlan(s))
	}
	e.Warnings = append(e.Warnings, f.NotFound()...)
	return e
}

// NotFound says of which streams it is not found, or may not be, what the upstream removes.
func (f *File) NotFound() (all []string) {
	for _, s := range f.Streams {
		gone := s.goneText()
		if why, not := strings.CutPrefix(gone, "not found: "); not {
			all = append(all, "stream "+s.Name+": what the upstream removes is not found: "+why)
		} else if strings.HasSuffix(gone, mayNotBeFound) {
			all = append(all, "stream "+s.Name+": what the upstream removes is not found if its links name pages by number, such as page=2: these shift, and no total tells it; give total if there is one")
		}
	}
	return all
}

// mayNotBeFound is what is said where it depends on the upstream's links.
const mayNotBeFound = "; not found if its links name pages by number"

func (a *auth) text() string {
	text := "none"
	switch {
	case a.basic:
		text = "name and password in the header Authorization"
	case a.header != "":
		text = "the header " + a.header
	case a.query != "":
		text = "the parameter " + a.query
	}
	switch {
	case a.login == nil:
	case a.login.grant == "":
		text += ", with a token that POST " + a.login.url.text + " gives"
	default:
		text += ", with a token that POST " + a.login.url.text + " gives by " + a.login.grant
	}
	if a.when != nil {
		text += " if " + a.when.text
	}
	return text
}

func (f *File) rationText(i int) string {
	r := &f.Rations[i]
	var per []string
	for _, d := range r.Per {
		per = append(per, string(d))
	}
	text := fmt.Sprintf("%s: %d %s", r.Name, r.Calls, r.Unit)
	switch {
	case r.Every.IsZero() && r.Calls == 0:
		text = r.Name + ": as answers tell"
	case r.Every.IsZero():
		text += " at once"
	default:
		text += " every " + r.Every.String()
	}
	text += fmt.Sprintf(" per %s, %s", strings.Join(per, " and "), r.Shape)
	if len(r.Match) > 0 {
		text += fmt.Sprintf(", for %v", r.Match)
	}
	if used := r.Usable(); used < r.Calls {
		text += fmt.Sprintf("; %d are used", used)
	}
	if low := r.UsableLow(); low < r.Usable() {
		text += fmt.Sprintf(", %d by what is of low priority", low)
	}
	if r.Unit == ration.UnitPoints {
		text += fmt.Sprintf("; a call is thought to take %d", max(r.Cost, 1))
	}
	return text
}

func (f *File) streamPlan(s *Stream) StreamPlan {
	p := StreamPlan{Name: s.Name, Table: string(f.Kind(s)), First: s.whole().text()}
	if s.Parent != nil {
		p.Of = s.Parent.Name
		p.First += ", for each of " + s.Parent.Name
	}
	if s.count != nil {
		p.First += ", after " + s.count.text()
	}
	switch {
	case s.changes != nil && s.Parent != nil && !s.perParent():
		p.Later = s.changes.text() + ", one walk for all " + s.Parent.Name
	case s.changes != nil:
		p.Later = s.changes.text()
	case s.window > 0:
		p.First += fmt.Sprintf(", in slices of %s since %s", s.window, s.cursor.begins.text)
		p.Later = "the same, since the last walk"
	case s.followed():
		p.Later = "the same, since the last walk"
	case s.etag:
		p.Later = "the same, only pages that changed"
	default:
		p.Later = "the same"
	}
	p.Gone = s.goneText()
	return p
}

// goneText says how it is found out what the upstream no longer has.
func (s *Stream) goneText() string {
	walk, by := s.whole(), "by every walk that comes to its end"
	if s.sweep != nil {
		walk, by = s.sweep, fmt.Sprintf("by a walk of everything every %s: %s", s.sweepEvery, s.sweep.text())
	}
	switch {
	case s.latest:
		return "not looked for: it shows only what came last"
	case s.sweep == nil && !s.listing():
		return "not found: only changes are asked for; give sweep"
	case walk.page.counted() && !walk.page.total.is():
		return "not found: pages by number shift, and no total tells it; give total, or keyset pages"
	case walk.mayShift():
		return by + mayNotBeFound
	}
	return by
}

// mayShift says whether it depends on the upstream's links, and on no total, that
// something that is removed may move other records to pages that were read.
func (r *request) mayShift() bool { return r.page.kind == pageLink && !r.page.total.is() }

func (r *request) text() string {
	text := r.method + " " + r.url.text
	switch {
	case r.page.kind == pageNone:
		return text + ", one page"
	case r.page.counted() && (r.page.total.is() || r.page.pages.is()):
		return text + ", pages by " + r.page.kind + ", all at once when the first tells how many"
	}
	return text + ", pages by " + r.page.kind + ", one after another"
}
