package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
)

// board shows the progress of runs: on a terminal as lines that are redrawn in
// place, elsewhere as a plain line whenever something worth reading happened.
type board struct {
	out   io.Writer
	style style
	now   func() time.Time
	// width is the terminal's; 0 means plain lines.
	width int

	runs  map[int64]engine.Progress
	order []int64
	drawn int
	said  map[int64]saying
}

// saying is what was last said about a run in plain lines.
type saying struct {
	text string
	at   time.Time
}

// sayAgain is how often a plain line repeats what has only grown.
const sayAgain = 5 * time.Second

// maxRows bounds the redrawn block, so that it fits a terminal's height.
const maxRows = 20

func newBoard(out io.Writer, st style, width int, now func() time.Time) *board {
	return &board{out: out, style: st, now: now, width: width, runs: map[int64]engine.Progress{}, said: map[int64]saying{}}
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
	if b.width > 0 {
		b.redraw()
		return
	}
	for _, id := range b.order {
		b.say(b.runs[id])
	}
}

func (b *board) say(p engine.Progress) {
	last := b.said[p.ID]
	key := fmt.Sprint(p.Status, waitText(p))
	if last.text == key && (b.now().Sub(last.at) < sayAgain || !p.Status.Active()) {
		return
	}
	b.said[p.ID] = saying{key, b.now()}
	fmt.Fprintf(b.out, "%s run %d %s: %s\n", p.Login, p.ID, p.Status, b.describe(p))
}

func (b *board) redraw() {
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
	_, _ = io.WriteString(b.out, s.String()) // a terminal that is gone needs no progress
}

// rows are the active runs first, then the ended ones, as far as they fit, and
// a line that sums up.
func (b *board) rows() []string {
	ids := slices.Clone(b.order)
	slices.SortStableFunc(ids, func(x, y int64) int {
		return rank(b.runs[x]) - rank(b.runs[y])
	})
	var rows []string
	for _, id := range ids[:min(len(ids), maxRows)] {
		rows = append(rows, b.row(b.runs[id]))
	}
	return append(rows, b.style.dim(b.total()))
}

func rank(p engine.Progress) int {
	if p.Status.Active() {
		return 0
	}
	return 1
}

func (b *board) row(p engine.Progress) string {
	const barWidth = 20
	line := fmt.Sprintf("%-20.20s %s %s", p.Login, b.bar(p, barWidth), b.describe(p))
	return clip(line, b.width)
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
	case p.Status == domain.RunFailed || p.Failed > 0:
		return b.style.red(bar)
	case len(p.Waits) > 0:
		return b.style.yellow(bar)
	}
	return bar
}

// describe is one run in words: done/known pages, calls used, quota left, what
// it waits for, and when it will end.
func (b *board) describe(p engine.Progress) string {
	parts := []string{fmt.Sprintf("%s/%s pages, %s calls, %s documents",
		count(p.Done()), count(p.Known), count(p.Calls), count(p.Documents))}
	for _, w := range p.Quota {
		if p.Status.Active() {
			parts = append(parts, fmt.Sprintf("%s %s left", w.Bucket, count(int64(max(w.Available, 0)))))
		}
	}
	if p.Failed > 0 {
		parts = append(parts, b.style.red(fmt.Sprintf("%d jobs failed", p.Failed)))
	}
	switch {
	case p.Status == domain.RunCompleted:
		parts = append(parts, b.style.green("complete in "+p.FinishedAt.Sub(p.CreatedAt).Round(100*time.Millisecond).String()))
	case !p.Status.Active():
		parts = append(parts, b.style.red(p.Status.String()+": "+p.Reason))
	case len(p.Waits) > 0:
		parts = append(parts, b.style.yellow(waitText(p)))
	case !p.ETA.IsZero():
		parts = append(parts, "ends in "+p.ETA.Sub(b.now()).Round(time.Second).String())
	}
	return strings.Join(parts, ", ")
}

// waitText says what a run waits for and until when.
func waitText(p engine.Progress) string {
	texts := make([]string, 0, len(p.Waits))
	for _, w := range p.Waits {
		text := reasonText(w)
		if !w.Until.IsZero() {
			text += " until " + w.Until.Local().Format("15:04:05")
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

func reasonText(w engine.LaneWait) string {
	switch w.Reason {
	case "primary", "floor":
		return "waits for quota of owner " + w.Lane
	case "points", "concurrency":
		return "waits for the secondary limit of owner " + w.Lane
	case "retry_after":
		return "the upstream asked owner " + w.Lane + " to wait"
	}
	return w.Reason
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
	return fmt.Sprintf("%d of %d accounts done, %s calls, %s documents", done, len(b.runs), count(calls), count(documents))
}

// count writes a number with thousands separators.
func count(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// clip cuts a line to the terminal's width; escape sequences take no room.
func clip(line string, width int) string {
	seen, escape := 0, false
	for i, r := range line {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			if seen++; seen > width {
				return line[:i] + "\x1b[0m"
			}
		}
	}
	return line
}
