package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
)

// board shows the progress of runs: on a terminal as lines that are redrawn in
// place, elsewhere as a plain line whenever something worth reading happened.
type board struct {
	narrator
	screen *screen
	// size is the terminal's; without a width lines are plain.
	size size

	runs  map[int64]engine.Progress
	order []int64
	drawn int
	said  map[int64]saying
}

// saying is what was last said about a run in plain lines.
type saying struct {
	status  domain.RunStatus
	reasons string
	at      time.Time
}

// sayAgain is how often a plain line repeats what has only grown.
const sayAgain = 5 * time.Second

// maxRows bounds the redrawn block; more accounts than that are not read.
const maxRows = 20

func newBoard(s *screen, st style, size size, now func() time.Time) *board {
	return &board{
		narrator: narrator{style: st, now: now}, screen: s, size: size,
		runs: map[int64]engine.Progress{}, said: map[int64]saying{},
	}
}

// update takes a run's newest progress.
func (b *board) update(p engine.Progress) {
	if _, ok := b.runs[p.ID]; !ok {
		b.order = append(b.order, p.ID)
	}
	b.runs[p.ID] = p
}

// draw shows what there is to show.
func (b *board) draw() {
	if b.size.width > 0 {
		b.screen.draw(b.redraw)
		return
	}
	for _, id := range b.order {
		b.say(b.runs[id])
	}
}

// say writes a line when a run's state changed, when it waits for something
// new, and now and then while it only grows.
func (b *board) say(p engine.Progress) {
	last, now := b.said[p.ID], b.now()
	why := reasons(p)
	news := last.status != p.Status || (why != "" && why != last.reasons)
	if !news && (!p.Status.Active() || now.Sub(last.at) < sayAgain) {
		return
	}
	b.said[p.ID] = saying{p.Status, why, now}
	say(b.screen, "%s run %d %s: %s\n", p.Login, p.ID, p.Status, painted(b.describe(p, gapsUnknown)))
}

func (b *board) redraw(stands bool) string {
	if !stands {
		b.drawn = 0
	}
	var s strings.Builder
	if b.drawn > 0 {
		fmt.Fprintf(&s, "\x1b[%dA", b.drawn)
	}
	rows := b.rows()
	for _, row := range rows {
		s.WriteString("\x1b[2K" + row + "\n")
	}
	for range b.drawn - len(rows) {
		s.WriteString("\x1b[2K\n")
	}
	b.drawn = max(b.drawn, len(rows))
	return s.String()
}

// rows are the active runs first, then the ended ones, as far as they fit, and
// a line that sums up.
func (b *board) rows() []string {
	ids := slices.Clone(b.order)
	slices.SortStableFunc(ids, func(x, y int64) int {
		return rank(b.runs[x]) - rank(b.runs[y])
	})
	room := maxRows
	if b.size.height > 0 {
		// One line for the sum, one for the cursor.
		room = min(room, max(b.size.height-2, 1))
	}
	var rows []string
	for _, id := range ids[:min(len(ids), room)] {
		rows = append(rows, b.row(b.runs[id]))
	}
	return append(rows, b.style.dim(clip(b.total(), b.size.width)))
}

func rank(p engine.Progress) int {
	if p.Status.Active() {
		return 0
	}
	return 1
}

// row begins with what matters most: a narrow terminal cuts off its end.
func (b *board) row(p engine.Progress) string {
	const barWidth = 20
	line := fmt.Sprintf("%-20.20s %s %15s", domain.Printable(p.Login), b.bar(p, barWidth), b.pages(p))
	if fortune := b.fortune(p, gapsUnknown); fortune != "" {
		line += "  " + fortune + ";"
	}
	return clip(line+" "+b.effort(p), b.size.width)
}

func (b *board) bar(p engine.Progress, width int) string {
	full := 0
	if p.Known > 0 {
		full = int(int64(width) * p.Done() / p.Known)
	}
	bar := strings.Repeat("█", full) + strings.Repeat("░", width-full)
	switch {
	case p.Status == domain.RunCompleted && p.Failed == 0:
		return b.style.green(bar)
	case p.Status == domain.RunFailed || p.Status == domain.RunCanceled || p.Failed > 0:
		return b.style.red(bar)
	case len(p.Waits) > 0:
		return b.style.yellow(bar)
	}
	return bar
}

func (b *board) total() string {
	var done, calls, documents int64
	for _, p := range b.runs {
		if !p.Status.Active() {
			done++
		}
		calls += p.Calls
		documents += p.Documents
	}
	return fmt.Sprintf("%d of %d accounts done, %s calls, %s documents", done, len(b.runs), count(calls), count(documents)) + b.outlook()
}

// outlook sums up what is left, bucket by bucket, and names what it hangs on.
func (b *board) outlook() string {
	left := map[string]int64{}
	var last engine.Forecast
	for _, p := range b.runs {
		if p.Forecast == nil {
			continue
		}
		for _, bucket := range p.Forecast.Buckets {
			left[bucket.Bucket] += bucket.Left
		}
		if p.Forecast.Ends.After(last.Ends) {
			last = *p.Forecast
		}
	}
	var parts []string
	for _, bucket := range slices.Sorted(maps.Keys(left)) {
		if left[bucket] > 0 {
			parts = append(parts, bucket+" "+count(left[bucket]))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	text := "; to go: " + strings.Join(parts, ", ")
	if last.Ends.IsZero() {
		return text
	}
	text += " calls, until about " + b.clock(last.Ends) + "; " + last.Bottleneck + " is the bottleneck"
	if gain := last.Ends.Sub(last.EndsWithOneMore).Round(time.Second); gain > time.Second {
		text += ", one more owner's token would save " + gain.String()
	}
	return text
}

// clip cuts a line to the terminal's width; escape sequences take no room.
func clip(line string, width int) string {
	seen, escape, painted := 0, false, false
	for i, r := range line {
		switch {
		case r == '\x1b':
			escape, painted = true, true
		case escape:
			escape = r != 'm'
		default:
			if seen++; seen <= width {
				continue
			}
			if painted {
				return line[:i] + "\x1b[0m"
			}
			return line[:i]
		}
	}
	return line
}
