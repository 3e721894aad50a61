package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
)

// topView is what top shows.
type topView struct {
	board   *board
	quota   []wire.QuotaWindow
	refresh *refresh.Overview
	timers  *wire.CompletionStats
	rates   rates
	// idle says that no service runs, and broken why none answers.
	idle   bool
	broken error
}

// take takes what a run has come to. Ended ones stay while there are few.
func (v *topView) take(p engine.Progress) {
	if before, known := v.board.runs[p.ID]; known {
		v.rates.add(v.board.now(), p.Calls-before.Calls, p.Documents-before.Documents)
	} else if !p.Status.Active() {
		return
	}
	v.board.update(p)
	v.forget()
	// What a run's owner has left is told with it.
	for _, w := range p.Quota {
		i := slices.IndexFunc(v.quota, func(q wire.QuotaWindow) bool { return q.Owner == w.Owner && q.Bucket == w.Bucket })
		if i >= 0 {
			v.quota[i].Window = w
		} else {
			v.quota = append(v.quota, wire.QuotaWindow{Window: w, Logins: []string{p.Login}})
		}
	}
}

// endedKept is how many runs that ended are kept.
const endedKept = 100

// forget drops the oldest of the runs that ended, if there are too many.
func (v *topView) forget() {
	b := v.board
	ended := 0
	for _, id := range b.order {
		if !b.runs[id].Status.Active() {
			ended++
		}
	}
	b.order = slices.DeleteFunc(b.order, func(id int64) bool {
		if ended <= endedKept || b.runs[id].Status.Active() {
			return false
		}
		ended--
		delete(b.runs, id)
		delete(b.said, id)
		return true
	})
}

// told is the picture for programs.
func (v *topView) told() map[string]any {
	runs := make([]engine.Progress, 0, len(v.board.order))
	for _, id := range v.board.order {
		runs = append(runs, v.board.runs[id])
	}
	calls, documents := v.rates.perSecond(v.board.now())
	picture := map[string]any{
		"at": v.board.now().UTC(), "runs": runs, "quota": v.quota, "calls_per_second": calls, "documents_per_second": documents,
	}
	if v.refresh != nil {
		picture["refresh"] = v.refresh
	}
	if v.timers != nil {
		picture["timers"] = v.timers
	}
	return picture
}

// fewestRuns is what is shown of runs however low the terminal is.
const fewestRuns = 3

// rows are all lines, as many as there is room for: the runs give way first.
// Without a height there is room for all.
func (v *topView) rows(height int) []string {
	head := []string{v.title(), v.sums()}
	foot := append(v.quotaRows(), v.refreshRow(), v.timerRow())
	room := len(v.board.order)
	if height > 0 {
		room = max(height-len(head)-len(foot)-1, fewestRuns)
	}
	rows := head
	if len(v.board.order) > 0 {
		rows = append(rows, v.board.block(room)...)
	}
	rows = append(rows, foot...)
	if height > 0 {
		rows = append(rows, v.board.style.dim("q or Ctrl-C ends"))
	}
	for i, row := range rows {
		rows[i] = clip(row, v.board.size.width)
	}
	return rows
}

// title begins with the time of day, which shows that it lives.
func (v *topView) title() string {
	text := v.board.now().Local().Format(time.TimeOnly) + "  sluice"
	switch {
	case v.broken != nil:
		return text + "  " + v.board.style.red(v.broken.Error()+"; trying again")
	case v.idle:
		return text + "  " + v.board.style.yellow("no service runs on this data folder; nothing moves")
	}
	return text
}

func (v *topView) sums() string {
	var active, waiting, ended int
	for _, p := range v.board.runs {
		switch {
		case !p.Status.Active():
			ended++
		case len(p.Waits) > 0:
			active, waiting = active+1, waiting+1
		default:
			active++
		}
	}
	calls, documents := v.rates.perSecond(v.board.now())
	return fmt.Sprintf("runs: %d active, %d of them waiting, %d ended; %.1f calls/s, %.0f documents/s", active, waiting, ended, calls, documents)
}

// fewOwners is how many owners have a line of their own.
const fewOwners = 6

// quotaRows are a line for each owner, those that are parked first.
func (v *topView) quotaRows() []string {
	owners := map[string][]wire.QuotaWindow{}
	for _, w := range v.quota {
		// One whom no account draws on, as it has another token now, hinders nobody.
		if len(w.Logins) > 0 {
			owners[w.Owner] = append(owners[w.Owner], w)
		}
	}
	names := slices.Sorted(maps.Keys(owners))
	parked := func(name string) int {
		if slices.ContainsFunc(owners[name], func(w wire.QuotaWindow) bool { return w.ParkedUntil.After(v.board.now()) }) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(names, func(x, y string) int { return parked(x) - parked(y) })
	var rows []string
	for _, name := range names[:min(len(names), fewOwners)] {
		rows = append(rows, v.quotaRow(owners[name]))
	}
	if more := len(names) - fewOwners; more > 0 {
		rows = append(rows, fmt.Sprintf("… and %s of others", plural(more, "quota")))
	}
	if len(rows) == 0 {
		rows = append(rows, "quota: none has been used yet")
	}
	return rows
}

func (v *topView) quotaRow(windows []wire.QuotaWindow) string {
	parts := make([]string, len(windows))
	for i, w := range windows {
		parts[i] = fmt.Sprintf("%s %s of %s left", domain.Printable(w.Bucket), count(int64(max(w.Available, 0))), count(int64(w.Limit)))
		switch {
		case w.ParkedUntil.After(v.board.now()):
			parts[i] = v.board.style.yellow(fmt.Sprintf("%s until %s: %s", domain.Printable(w.Bucket), v.board.briefClock(w.ParkedUntil), parkedText(w.Window)))
		case w.Reset.After(v.board.now()):
			parts[i] += " until " + v.board.briefClock(w.Reset)
		}
	}
	return "quota of " + clip(domain.Printable(loginsText(windows[0].Logins)), 24) + ": " + strings.Join(parts, "; ")
}

func (v *topView) refreshRow() string {
	if v.refresh == nil {
		return "refreshes: none"
	}
	var parts []string
	for _, one := range v.refresh.Sources {
		parts = append(parts, fmt.Sprintf("%s %s snapshots, %s of %s calls today, %s tried again, %s failed", domain.Printable(one.Source),
			count(one.Counts.Snapshots), count(one.Rate.Used), count(one.Rate.Daily), count(one.Counts.Retrying), count(one.Counts.Failed)))
	}
	for _, name := range slices.Sorted(maps.Keys(v.refresh.Lags)) {
		parts = append(parts, fmt.Sprintf("%s %s waiting", name, count(v.refresh.Lags[name].Records)))
	}
	return "refreshes: " + strings.Join(parts, "; ")
}

func (v *topView) timerRow() string {
	if v.timers == nil {
		return "timers: " + unknown
	}
	return fmt.Sprintf("timers in the last hour: %s fired, %s under way, %s given up, %s late; p99 %.0f ms",
		count(v.timers.Completed), count(v.timers.Pending), count(v.timers.Failed), count(v.timers.Late), v.timers.Lateness.P99)
}

// rates tells how fast things went lately.
type rates struct{ marks []rateMark }

type rateMark struct {
	at               time.Time
	calls, documents int64
}

// rateSpan is how far back is looked.
const rateSpan = 10 * time.Second

func (r *rates) add(at time.Time, calls, documents int64) {
	r.marks = slices.DeleteFunc(r.marks, func(m rateMark) bool { return at.Sub(m.at) > rateSpan })
	if calls > 0 || documents > 0 {
		r.marks = append(r.marks, rateMark{at, calls, documents})
	}
}

func (r *rates) perSecond(now time.Time) (calls, documents float64) {
	for _, m := range r.marks {
		if now.Sub(m.at) <= rateSpan {
			calls += float64(m.calls)
			documents += float64(m.documents)
		}
	}
	return calls / rateSpan.Seconds(), documents / rateSpan.Seconds()
}
