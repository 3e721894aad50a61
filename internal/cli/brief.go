package cli

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
)

// brief is fortune for a line with little room: why a run waits, until when and
// when it will be done come before anything else, and long words last.
func (n narrator) brief(p engine.Progress) string {
	if !p.Status.Active() || p.Status == domain.RunFinalizing {
		return n.fortune(p, gapsUnknown)
	}
	var parts []string
	left := p.ETA.Sub(n.now()).Round(time.Second)
	eta := ""
	if !p.ETA.IsZero() && left > 0 {
		eta = "~" + left.String()
	}
	if len(p.Waits) > 0 {
		first := soonest(p.Waits)
		when, why := n.briefWait(first)
		switch {
		case first.Until.IsZero():
			parts = append(parts, n.style.red(why))
		case isQuota(first):
			parts = append(parts, n.style.yellow(why+" "+when))
		default:
			parts = append(parts, n.style.yellow(when))
		}
		if eta != "" {
			parts = append(parts, eta)
		}
		if !first.Until.IsZero() && !isQuota(first) {
			parts = append(parts, n.style.yellow(why))
		}
		if more := len(p.Waits) - 1; more > 0 {
			parts = append(parts, "+"+strconv.Itoa(more)+" more")
		}
	} else if eta != "" {
		parts = append(parts, eta+" to go")
	}
	if p.Failed > 0 {
		parts = append(parts, n.style.red(plural(int(p.Failed), "job")+" failed"))
	}
	return strings.Join(parts, ", ")
}

// soonest is the wait that is told first: one for a person, who has to know, or
// else the one that ends first.
func soonest(waits []engine.LaneWait) engine.LaneWait {
	return slices.MinFunc(waits, func(x, y engine.LaneWait) int { return x.Until.Compare(y.Until) })
}

// briefWait is waitText in few words.
func (n narrator) briefWait(w engine.LaneWait) (when, why string) {
	why = briefReason(w)
	switch {
	case w.Until.IsZero():
		return "", why
	case !w.Until.After(n.now()):
		return "any moment", why
	case isQuota(w):
		return "until " + n.briefClock(w.Until), why
	}
	return "again " + n.briefClock(w.Until), why
}

// briefClock is a time of day, or the day where it is another one.
func (n narrator) briefClock(at time.Time) string {
	at, now := at.Local(), n.now().Local()
	switch {
	case at.Format(time.DateOnly) == now.Format(time.DateOnly):
		return at.Format(time.TimeOnly)
	case at.Sub(now) < 300*24*time.Hour:
		return at.Format("Jan 2 15:04")
	}
	return at.Format(time.DateOnly)
}

func briefReason(w engine.LaneWait) string {
	bucket := domain.Printable(w.Lane[strings.LastIndexByte(w.Lane, '/')+1:])
	switch w.Reason {
	case "primary":
		return bucket + " quota"
	case "floor":
		return bucket + " floor"
	case "share":
		return bucket + " share of low priority"
	case "points", "concurrency":
		return bucket + " secondary limit"
	case "hours":
		return "owner's hours"
	case "retry_after":
		return "upstream asked"
	case "backoff":
		return "after a limit"
	case "trial":
		return "first " + bucket + " answer"
	case "floor_all":
		return "the floor keeps all of " + bucket
	}
	return domain.Printable(w.Reason)
}
