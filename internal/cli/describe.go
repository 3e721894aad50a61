package cli

import (
	"fmt"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
)

// narrator puts the progress of runs into words.
type narrator struct {
	style style
	now   func() time.Time
}

// completeness is whether the copy that a run made is complete.
type completeness int

const (
	// gapsUnknown is a run whose ledger was not looked at, or was pruned.
	gapsUnknown completeness = iota
	noGaps
	someGaps
)

// completenessOf is what a run's ledger says.
func completenessOf(sum wire.LedgerSummary) completeness {
	switch {
	case sum.Gaps > 0:
		return someGaps
	case sum.Pruned:
		return gapsUnknown
	}
	return noGaps
}

// pages is how far a run is.
func (n narrator) pages(p engine.Progress) string {
	return fmt.Sprintf("%s/%s pages", count(p.Done()), count(p.Known))
}

// pageCount is pages without the word, and share how much of them is done: for
// lines with little room.
func (n narrator) pageCount(p engine.Progress) string { return count(p.Done()) + "/" + count(p.Known) }

func (n narrator) share(p engine.Progress) string {
	if p.Known == 0 {
		return "0%"
	}
	return fmt.Sprintf("%d%%", 100*p.Done()/p.Known)
}

// fortune is what matters most about a run: how it ended, or what it waits for
// and when it will end. It is empty when there is nothing to say yet. That all
// jobs succeeded does not make a run complete: its ledger does.
func (n narrator) fortune(p engine.Progress, c completeness) string {
	switch {
	case p.Status == domain.RunCompleted && p.Failed > 0:
		return n.style.red(fmt.Sprintf("ended after %s without what %s should have collected", n.lasted(p), plural(int(p.Failed), "failed job")))
	case p.Status == domain.RunCompleted && c == someGaps:
		return n.style.red("ended after " + n.lasted(p) + " with gaps")
	case p.Status == domain.RunCompleted && c == noGaps:
		return n.style.green("complete in " + n.lasted(p))
	case p.Status == domain.RunCompleted:
		return n.style.green("ended in " + n.lasted(p))
	case p.Status == domain.RunFinalizing:
		return "computing statistics"
	case !p.Status.Active():
		return n.style.red(p.Status.String() + ": " + orDash(p.Reason))
	}
	var parts []string
	if p.Failed > 0 {
		parts = append(parts, n.style.red(plural(int(p.Failed), "job")+" failed"))
	}
	if len(p.Waits) > 0 {
		parts = append(parts, n.style.yellow(n.waitText(p)))
	}
	if left := p.ETA.Sub(n.now()).Round(time.Second); !p.ETA.IsZero() && left > 0 {
		parts = append(parts, "about "+left.String()+" to go")
	}
	return strings.Join(parts, ", ")
}

func (n narrator) lasted(p engine.Progress) string {
	return p.FinishedAt.Sub(p.CreatedAt).Round(100 * time.Millisecond).String()
}

// effort is what a run has cost and brought, and what is left of its ration.
func (n narrator) effort(p engine.Progress) string {
	text := fmt.Sprintf("%s calls, %s documents", count(p.Calls), count(p.Documents))
	if !p.Status.Active() || len(p.Quota) == 0 {
		return text
	}
	left := make([]string, len(p.Quota))
	for i, w := range p.Quota {
		left[i] = domain.Printable(w.Bucket) + " " + count(int64(max(w.Available, 0)))
	}
	return text + "; quota left: " + strings.Join(left, ", ")
}

// describe is one run in a line.
func (n narrator) describe(p engine.Progress, c completeness) string {
	parts := []string{n.pages(p), n.fortune(p, c), n.effort(p)}
	if parts[1] == "" {
		return parts[0] + ", " + parts[2]
	}
	return parts[0] + ", " + parts[1] + "; " + parts[2]
}

// waitText says what a run waits for and until when.
func (n narrator) waitText(p engine.Progress) string {
	texts := make([]string, len(p.Waits))
	for i, w := range p.Waits {
		texts[i] = reasonText(w)
		if w.Until.IsZero() {
			continue
		}
		until := " until "
		if !isQuota(w) {
			until = ", trying again at "
		}
		if !w.Until.After(n.now()) {
			// What came to its end since it was told is over any moment.
			texts[i] += ", which ends any moment"
			continue
		}
		texts[i] += until + n.clock(w.Until)
	}
	return strings.Join(texts, "; ")
}

// clock is a time of day, with its date and zone if that is not today's.
func (n narrator) clock(at time.Time) string { return moment(at, n.now()) }

// reasons is waitText without its times: what is worth saying only once.
func reasons(p engine.Progress) string {
	texts := make([]string, len(p.Waits))
	for i, w := range p.Waits {
		texts[i] = reasonText(w)
	}
	return strings.Join(texts, "; ")
}

// isQuota tells a wait for the upstream's ration from one for something that
// is broken.
func isQuota(w engine.LaneWait) bool { return domain.Printable(w.Reason) != reasonText(w) }

func reasonText(w engine.LaneWait) string {
	// A lane is its owner and its bucket.
	bucket := domain.Printable(w.Lane[strings.LastIndexByte(w.Lane, '/')+1:])
	switch w.Reason {
	case "primary":
		return "waits for " + bucket + " quota"
	case "floor":
		return "waits for " + bucket + " quota beyond what its owner keeps"
	case "share":
		return "waits for " + bucket + " quota beyond what is kept for runs of high priority"
	case "points", "concurrency":
		return "waits for the secondary limit of " + bucket
	case "hours":
		return "waits until the hours kept for its owner end"
	case "retry_after":
		return "waits because the upstream asked it to"
	case "backoff":
		return "waits after a limit that does not say when it ends"
	case "trial":
		return "waits for the answer to the first call for " + bucket
	case "floor_all":
		return "waits forever for " + bucket + ": the floor keeps the whole limit for its owner; lower --floor, or account set --keep"
	}
	return domain.Printable(w.Reason)
}

// whoseQuota says for whose ration and until when a run waits, and what follows;
// a line of a board has no room for that.
func (n narrator) whoseQuota(w engine.LaneWait) string {
	owner, bucket, _ := strings.Cut(w.Lane, "/")
	// Enough of the name, a long hash, to tell him from others.
	const enough = 4
	if len(owner) > enough {
		owner = owner[:enough] + "…"
	}
	if !w.Until.After(n.now()) {
		return fmt.Sprintf("waits for %s quota of owner %s, which ends any moment", bucket, owner)
	}
	return fmt.Sprintf("waits for %s quota of owner %s until %s; resumes then, before what is LOW", bucket, owner, n.clock(w.Until))
}

// forecast says what is left, when it will be done and what would speed it up.
func (n narrator) forecast(f engine.Forecast) []string {
	if f.Left == 0 {
		return nil
	}
	var lines []string
	for _, b := range f.Buckets {
		line := fmt.Sprintf("%s: %s calls made, %s to go", b.Bucket, count(b.Done), count(b.Left))
		if b.Limit > 0 {
			line += fmt.Sprintf("; %s of %s left in this window", count(int64(b.Available)), count(int64(b.Limit)))
		}
		lines = append(lines, line)
	}
	switch {
	case f.Discovering:
		lines = append(lines, "repositories are still being found; there may be more to do")
	case f.Ends.IsZero():
		lines = append(lines, "too little is known yet to say when it ends")
	default:
		line := fmt.Sprintf("ends at about %s; %s is the bottleneck", f.Ends.Local().Format("2006-01-02 15:04:05"), f.Bottleneck)
		if gain := f.Ends.Sub(f.EndsWithOneMore).Round(time.Second); gain > time.Second {
			line += "; one more owner's token would save " + gain.String()
		}
		lines = append(lines, line)
	}
	return lines
}

// count writes a number with thousands separators.
func count(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
