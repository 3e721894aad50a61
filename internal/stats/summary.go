package stats

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
)

// SummaryOptions say how a summary is drawn.
type SummaryOptions struct {
	// Color draws with ANSI colours; otherwise shades of grey blocks tell the
	// same. Whether NO_COLOR or a terminal forbids colour is for the caller
	// to find out.
	Color bool
	// Width is the terminal's; zero means 80. Below 50 it counts as 50.
	Width int
	// Now is the last day of the heat map; zero means the statistics' AsOf.
	Now time.Time
}

const (
	defaultWidth   = 80
	minWidth       = 50
	languagesShown = 8
	indent         = "  "
)

// Summary writes an account's statistics for a person at a terminal.
func Summary(w io.Writer, a Account, o SummaryOptions) error {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	if o.Now.IsZero() {
		o.Now = a.AsOf
	}
	s := &summary{a: a, width: max(o.Width, minWidth), now: o.Now.UTC(), paint: painter{o.Color}}
	if !a.code() {
		s.inventory()
		_, err := io.WriteString(w, s.out.String())
		return err
	}
	s.head()
	s.figures()
	s.heat()
	s.languages()
	s.remarks()
	_, err := io.WriteString(w, s.out.String())
	return err
}

// summary collects the lines of a summary.
type summary struct {
	a     Account
	width int
	now   time.Time
	paint painter
	out   strings.Builder
}

func (s *summary) line(text string) {
	s.out.WriteString(text)
	s.out.WriteByte('\n')
}

// code says whether the account is of a place where code is kept, as far as its
// figures tell; one of which nothing was collected may be.
func (a *Account) code() bool {
	return len(a.Documents) == 0 || a.Repositories != Repositories{} || a.Commits.Seen > 0 || a.Issues != Issues{} || a.Pulls != Pulls{}
}

// inventory is what there is to tell of any other account: how many documents of each
// kind the copy holds.
func (s *summary) inventory() {
	s.title()
	width := 0
	for kind := range s.a.Documents {
		width = max(width, len(kind))
	}
	for _, kind := range slices.Sorted(maps.Keys(s.a.Documents)) {
		n := s.a.Documents[kind]
		details := ""
		if n.Deleted > 0 {
			details = humanize.Comma(n.Deleted) + " gone"
		}
		figure := fmt.Sprintf("%11s", humanize.Comma(n.Stored))
		s.line(strings.TrimRight(indent+padRight(printable(string(kind)), width)+indent+s.paint.bold(figure)+indent+details, " "))
	}
}

func (s *summary) title() {
	login := printable(s.a.Login)
	about := fmt.Sprintf(" on %s, as of %s", printable(s.a.Source), s.a.AsOf.UTC().Format("2 Jan 2006 15:04 UTC"))
	s.line(s.paint.bold(login) + fit(about, s.width-len([]rune(login))))
	s.line("")
}

func (s *summary) head() {
	s.title()
	s.score("activity", ByActivity, s.a.Scores.Activity)
	s.score("impact", ByImpact, s.a.Scores.Impact)
	s.line("")
}

func (s *summary) score(name string, by Measure, value float64) {
	place := ""
	for _, standing := range s.a.Standings {
		if standing.By == by {
			place = fmt.Sprintf("rank %s of %s, percentile %v",
				humanize.Comma(standing.Rank), humanize.Comma(standing.Of), standing.Percentile)
		}
	}
	s.row(name, fmt.Sprintf("%.2f", value), place)
}

// row writes a name, its figure in bold and the details.
func (s *summary) row(name, figure, details string) {
	const nameWidth, figureWidth = 13, 11
	left := indent + padRight(name, nameWidth) + strings.Repeat(" ", max(0, figureWidth-len(figure)))
	room := s.width - len(left) - len(figure) - len(indent)
	s.line(strings.TrimRight(left+s.paint.bold(figure)+indent+fit(details, room), " "))
}

func (s *summary) figures() {
	a := &s.a
	n := humanize.Comma
	s.row("commits", n(a.Commits.Own), fmt.Sprintf("%s, of %s seen", a.ToOthers(a.Commits.ToOthers), n(a.Commits.Seen)))
	s.row("lines", "+"+n(a.Commits.Additions), fmt.Sprintf("-%s in %s", n(a.Commits.Deletions), plural(a.Commits.Measured, "measured commit")))
	s.row("issues", n(a.Issues.Opened), fmt.Sprintf("%s; solved %s", a.ToOthers(a.Issues.OpenedToOthers), n(a.Issues.Solved)))
	s.row("pulls", n(a.Pulls.Opened), fmt.Sprintf("%s; merged %s, %s",
		a.ToOthers(a.Pulls.OpenedToOthers), n(a.Pulls.Merged), a.ToOthers(a.Pulls.MergedToOthers)))
	s.row("repositories", n(a.Repositories.Owned), fmt.Sprintf("%s, %s private, %s archived",
		plural(a.Repositories.Forks, "fork"), n(a.Repositories.Private), n(a.Repositories.Archived)))
	s.row("stars", n(a.Repositories.Stars), "")
	if a.Teamwork != nil {
		s.teamwork(a.Teamwork)
	}
	s.line("")
}

func (s *summary) teamwork(t *Teamwork) {
	n := humanize.Comma
	wait := ""
	if t.PullsReviewed > 0 {
		wait = fmt.Sprintf("; %s reviewed, half of them within %s", plural(t.PullsReviewed, "pull"), hours(t.FirstReview))
	}
	s.row("reviews", n(t.ReviewsGiven), fmt.Sprintf("of %s seen%s", n(t.ReviewsSeen), wait))
	s.row("comments", n(t.CommentsWritten), fmt.Sprintf("of %s seen", n(t.CommentsSeen)))
	s.row("releases", n(t.Releases), "")
	if rate, ok := t.SuccessRate(); ok {
		s.row("workflows", fmt.Sprintf("%.1f%%", 100*rate), fmt.Sprintf("of %s succeeded", plural(t.RunsSucceeded+t.RunsFailed, "run")))
	}
}

// hours puts a time into words that are exact enough.
func hours(seconds int64) string {
	switch {
	case seconds < 3600:
		return plural((seconds+59)/60, "minute")
	case seconds < 72*3600:
		return plural((seconds+3599)/3600, "hour")
	}
	return plural((seconds+86399)/86400, "day")
}

// ToOthers puts a figure about repositories of others into words: it is not
// known if nothing of others was collected.
func (a *Account) ToOthers(n int64) string {
	if !a.OthersCollected && n == 0 {
		return "? to others"
	}
	return humanize.Comma(n) + " to others"
}

func (s *summary) heat() {
	room := s.width - len(indent) - heatLabel
	cell := 1
	if room >= 2*weeksShown {
		cell = 2
	}
	m := newHeatmap(s.a.Activity.ByDay, s.now, room/cell)
	for _, line := range m.lines(s.paint, cell) {
		s.line(indent + line)
	}
	key := strings.Repeat(" ", heatLabel) + "less "
	for level := range levels {
		key += s.paint.cell(level)
	}
	s.line(indent + key + " more")
	s.line("")
	s.line(indent + fit(fmt.Sprintf("%s in the %s to %s, %s in all",
		plural(m.total, "activity"), plural(int64(m.weeks), "week"), s.now.Format("2 Jan 2006"), humanize.Comma(s.a.Activity.Total)), s.width-len(indent)))
	s.line(indent + fit(fmt.Sprintf("streak: %s now, longest %s",
		plural(s.a.Activity.Current.Days, "day"), longest(s.a.Activity.Longest)), s.width-len(indent)))
}

func longest(s Streak) string {
	if s.Days == 0 {
		return "0 days"
	}
	return fmt.Sprintf("%s until %s", plural(s.Days, "day"), s.To)
}

// languages draws a bar for each of the busiest languages, and one for the rest.
func (s *summary) languages() {
	shown, rest := s.a.Languages, Language{Name: "others"}
	if len(shown) > languagesShown {
		for _, l := range shown[languagesShown-1:] {
			rest.add(l)
		}
		shown = append(shown[:languagesShown-1:languagesShown-1], rest)
	}
	if s.a.Activity.Total == 0 {
		return
	}
	const nameWidth, shareWidth, commitsWidth = 13, 8, 18
	room := s.width - len(indent) - nameWidth - shareWidth - commitsWidth
	s.line("")
	for i, l := range shown {
		if l.Activities == 0 {
			continue
		}
		share := float64(l.Activities) / float64(s.a.Activity.Total)
		s.line(indent + padRight(fit(printable(l.Name), nameWidth-1), nameWidth) +
			s.paint.bar(i, padRight(bar(share, room), room)) +
			fmt.Sprintf("%*s", shareWidth, fmt.Sprintf("%.1f %%", 100*share)) +
			fmt.Sprintf("%*s", commitsWidth, plural(l.Commits, "commit")))
	}
}

// remarks says what the figures leave out.
func (s *summary) remarks() {
	var deleted, truncated int64
	for _, n := range s.a.Documents {
		deleted += n.Deleted
		truncated += n.Truncated
	}
	var remarks []string
	if !s.a.OthersCollected {
		remarks = append(remarks, "repositories of others were not collected: what was done there is not known")
	}
	if n := s.a.Repositories.Blocked; n > 0 {
		remarks = append(remarks, plural(n, "blocked repository")+" not counted")
	}
	if n := s.a.Repositories.Forbidden; n > 0 {
		remarks = append(remarks, plural(n, "repository")+" that the credential may not see, not counted")
	}
	if missing := s.a.Commits.Own - s.a.Commits.Measured; missing > 0 {
		remarks = append(remarks, plural(missing, "commit")+" without line counts")
	}
	if deleted > 0 {
		remarks = append(remarks, plural(deleted, "deleted document")+" kept, not counted")
	}
	if truncated > 0 {
		remarks = append(remarks, plural(truncated, "document")+" without full payload")
	}
	if len(remarks) == 0 {
		return
	}
	s.line("")
	for _, remark := range remarks {
		s.line(indent + fit(remark, s.width-len(indent)))
	}
}

// bar draws a share of the room in eighths of a column; a share above zero is
// never invisible.
func bar(share float64, room int) string {
	eighths := int(share*float64(8*room) + 0.5)
	if eighths == 0 {
		eighths = 1
	}
	parts := []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}
	return strings.Repeat("█", eighths/8) + parts[eighths%8]
}

func plural(n int64, noun string) string {
	if n != 1 {
		if stem, ok := strings.CutSuffix(noun, "y"); ok && !strings.HasSuffix(noun, "ay") {
			noun = stem + "ies"
		} else {
			noun += "s"
		}
	}
	return humanize.Comma(n) + " " + noun
}

// fit cuts a text to so many columns.
func fit(s string, columns int) string {
	r := []rune(s)
	if len(r) <= columns {
		return s
	}
	return string(r[:max(columns-1, 0)]) + "…"
}

// printable keeps names from an upstream from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}
