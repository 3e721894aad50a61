package schedule

import (
	"fmt"
	"time"

	"sluice/internal/domain"
)

// MaxResumes is how often a run that failed is resumed before it is given up
// and the next one begins in its turn.
const MaxResumes = 5

// Ended is what is known when a run has ended.
type Ended struct {
	// Account is the account's id; its share of the spread comes from it.
	Account int64
	// Run is the run that ended, and RunBegan when it began.
	Run      int64
	RunBegan time.Time
	Now      time.Time
	// Reset is the latest known reset of the quota; zero while unknown.
	Reset time.Time
	// Window is how long a quota window is taken to be if Reset is unknown or
	// past; DefaultWindow if zero.
	Window time.Duration
	// Failed is whether jobs failed in a way that may pass.
	Failed bool
	// FailedJobs of Jobs failed so; they are named in the reason if known.
	FailedJobs, Jobs int64
	// Tries is how often the run was resumed already.
	Tries int
}

// Plan is when an account is collected next, and how.
type Plan struct {
	// At is never before the instant it was planned at; zero if nothing is
	// planned.
	At       time.Time
	Priority domain.Priority
	// Resume is the run that goes on then; 0 begins a new one.
	Resume int64
	// Tries is how often Resume was resumed, this time included.
	Tries int
	// Reason says why it is then, or why nothing is planned.
	Reason string
}

// None reports whether nothing is planned.
func (p Plan) None() bool { return p.At.IsZero() }

// Next plans what follows a run. The policy is a checked one; of one that is
// not, what cannot be understood is left out, and the reason says so.
func Next(p Policy, e Ended) Plan {
	if p.isOff() {
		return off()
	}
	reason := ""
	if e.Failed {
		if e.Tries < MaxResumes {
			return resume(p, e)
		}
		reason = fmt.Sprintf("%s, also after %d retries; ", failure(e), e.Tries)
	}
	s := p.following(e)
	s.reason = reason + s.reason
	return s.plan(p, e.Account, e.Now)
}

// First plans the first run of an account that never had one planned: at once,
// or at the next instant of its cron expression.
func First(p Policy, account int64, now time.Time) Plan {
	if p.isOff() {
		return off()
	}
	s := start{at: now, reason: "it has never been planned before", period: time.Duration(p.Every)}
	if p.Cron != "" {
		if next, err := p.nextCron(now); err == nil {
			s = next
		} else {
			s.reason += "; " + err.Error()
		}
	}
	return s.plan(p, account, now)
}

func off() Plan {
	return Plan{Reason: "the schedule is off; it is collected on request"}
}

// resume plans a run's failed jobs. Failures do not come in herds as resets do,
// and are not moved apart.
func resume(p Policy, e Ended) Plan {
	s := start{
		at:     e.Now.Add(orElse(p.AfterFailure, DefaultAfterFailure)),
		reason: failure(e) + "; they are retried",
	}
	s.leaveQuiet(p, 0, e.Now)
	return Plan{At: s.at.UTC().Round(0), Priority: domain.PriorityHigh, Resume: e.Run, Tries: e.Tries + 1, Reason: s.reason}
}

func failure(e Ended) string {
	switch {
	case e.FailedJobs == 0:
		return "jobs failed"
	case e.Jobs == 0:
		return fmt.Sprintf("%d jobs failed", e.FailedJobs)
	}
	return fmt.Sprintf("%d of %d jobs failed", e.FailedJobs, e.Jobs)
}

// following says when the next new run may begin, before it is moved.
func (p Policy) following(e Ended) start {
	if p.Every != 0 {
		s := start{at: e.RunBegan.Add(time.Duration(p.Every)), reason: "every " + p.Every.String(), period: time.Duration(p.Every)}
		if s.at.Before(e.Now) {
			s.at = e.Now
			s.reason += ", which have passed since the last run began"
		}
		return s
	}
	if p.Cron == "" {
		return p.afterReset(e)
	}
	s, err := p.nextCron(e.Now)
	if err != nil {
		s = p.afterReset(e)
		s.reason += "; " + err.Error()
	}
	return s
}

// nextCron returns the next instant of Cron.
func (p Policy) nextCron(now time.Time) (start, error) {
	zone, err := p.location()
	if err != nil {
		return start{}, err
	}
	t, err := parseCron(p.Cron, zone)
	if err != nil {
		return start{}, err
	}
	at := t.after(now)
	return start{at: at, reason: fmt.Sprintf("cron %s (%s)", p.Cron, zone), period: t.after(at).Sub(at)}, nil
}

// afterReset returns when the quota is there again.
func (p Policy) afterReset(e Ended) start {
	reset, known := e.Reset, ""
	if !reset.After(e.Now) {
		window := e.Window
		if window <= 0 {
			window = DefaultWindow
		}
		// The last call may have begun a window just now.
		reset, known = e.Now.Add(window), " at the latest"
	}
	return start{
		at:     reset.Add(orElse(p.AfterSuccess, DefaultAfterSuccess)),
		reason: "quota resets at " + clock(reset, e.Now) + known,
	}
}

// clock is an instant for people, with its date if that is not today's.
func clock(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04 UTC")
	}
	return t.Format("2006-01-02 15:04 UTC")
}
