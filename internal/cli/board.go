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
	// size is the terminal's; without a width lines are plain. measure, if set,
	// tells it anew before each drawing.
	size    size
	measure func() size

	runs  map[int64]engine.Progress
	order []int64
	// drawn are the lines that stand, and folded how many they have become in a
	// terminal of another width; 0 if it has the same.
	drawn  []string
	folded int
	said   map[int64]saying
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
		if b.measure != nil {
			b.measured(b.measure())
		}
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
		b.drawn = nil
	}
	var s strings.Builder
	if b.folded > 0 && stands {
		// A terminal that was made narrower has folded the lines that stood there.
		fmt.Fprintf(&s, "\x1b[%dA\x1b[J", b.folded)
		b.drawn = nil
	}
	b.folded = 0
	if len(b.drawn) > 0 {
		fmt.Fprintf(&s, "\x1b[%dA", len(b.drawn))
	}
	rows := b.rows()
	for range len(b.drawn) - len(rows) {
		rows = append(rows, "")
	}
	for _, row := range rows {
		s.WriteString("\x1b[2K" + row + "\n")
	}
	b.drawn = rows
	return s.String()
}

// measured takes the terminal's size as it is now.
func (b *board) measured(now size) {
	if now == b.size || now.width == 0 {
		return
	}
	b.size, b.folded = now, 0
	for _, row := range b.drawn {
		b.folded += max(1, (columnsIn(row)+now.width-1)/now.width)
	}
}

// rows are the runs as far as they fit, and a line that sums up.
func (b *board) rows() []string {
	room := maxRows
	if b.size.height > 0 {
		// One line for the sum, one for the cursor.
		room = min(room, max(b.size.height-2, 1))
	}
	return append(b.block(room), b.style.dim(clip(b.total(), b.size.width)))
}

// block is a line for each run: those that wait for a person, the other active
// ones, then those that ended; and how many there is no room for.
func (b *board) block(room int) []string {
	ids := slices.Clone(b.order)
	slices.SortStableFunc(ids, func(x, y int64) int { return rank(b.runs[x]) - rank(b.runs[y]) })
	shown := len(ids)
	if shown > room {
		shown = max(room-1, 0)
	}
	rows := make([]string, 0, room)
	for _, id := range ids[:shown] {
		rows = append(rows, b.row(b.runs[id]))
	}
	if shown == len(ids) {
		return rows
	}
	return append(rows, b.style.dim(clip(b.unseen(ids[shown:]), b.size.width)))
}

// unseen says what there is no line for.
func (b *board) unseen(ids []int64) string {
	var waiting, failed int
	for _, id := range ids {
		p := b.runs[id]
		switch {
		case p.Status.Active() && len(p.Waits) > 0:
			waiting++
		case p.Failed > 0, !p.Status.Active() && p.Status != domain.RunCompleted:
			failed++
		}
	}
	text := fmt.Sprintf("… and %s more", count(int64(len(ids))))
	if waiting > 0 {
		text += fmt.Sprintf(", %s waiting", count(int64(waiting)))
	}
	if failed > 0 {
		text += fmt.Sprintf(", %s incomplete", count(int64(failed)))
	}
	return text
}

func rank(p engine.Progress) int {
	switch {
	case p.Status.Active() && waitsForPerson(p):
		return 0
	case p.Status.Active():
		return 1
	}
	return 2
}

// columns are what a line has for the name and the bar, and how its pages are told.
type columns struct {
	name, bar, pages int
	how              func(narrator, engine.Progress) string
}

func columnsFor(width int) columns {
	switch {
	case width >= 100:
		return columns{20, 20, 15, narrator.pages}
	case width >= 80:
		return columns{16, 8, 13, narrator.pageCount}
	}
	return columns{14, 0, 4, narrator.share}
}

// row begins with what matters most: who, how far, why it waits, until when and
// when it will be done. What it cost is told where there is room.
func (b *board) row(p engine.Progress) string {
	c := columnsFor(b.size.width)
	line := column(domain.Printable(p.Login), c.name)
	if c.bar > 0 {
		line += " " + b.bar(p, c.bar)
	}
	line += fmt.Sprintf(" %*s", c.pages, c.how(b.narrator, p))
	fortune := b.fortune(p, gapsUnknown)
	if columnsIn(line)+2+columnsIn(fortune) > b.size.width {
		fortune = b.brief(p)
	}
	if fortune != "" {
		line += "  " + fortune
	}
	// A few letters of what it cost would tell nobody anything.
	if fortune != "" && columnsIn(line)+effortRoom > b.size.width {
		return clip(line, b.size.width)
	}
	if fortune != "" {
		line += ";"
	}
	return clip(line+" "+b.effort(p), b.size.width)
}

// effortRoom is what is needed at least to tell what a run cost.
const effortRoom = 14

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

// total begins with the time of day: it shows that the board lives, also while
// nothing happens.
func (b *board) total() string {
	var done, calls, documents int64
	var ends time.Time
	for _, p := range b.runs {
		if !p.Status.Active() {
			done++
		}
		calls += p.Calls
		documents += p.Documents
		if p.Forecast != nil && p.Forecast.Ends.After(ends) {
			ends = p.Forecast.Ends
		}
	}
	text := fmt.Sprintf("%s  %d of %d accounts done", b.now().Local().Format(time.TimeOnly), done, len(b.runs))
	if !ends.IsZero() {
		text += ", all at about " + b.clock(ends)
	}
	return text + fmt.Sprintf(", %s calls, %s documents", count(calls), count(documents)) + b.outlook()
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
	text += " calls; " + last.Bottleneck + " is the bottleneck"
	if gain := last.Ends.Sub(last.EndsWithOneMore).Round(time.Second); gain > time.Second {
		text += ", one more owner's token would save " + gain.String()
	}
	return text
}
