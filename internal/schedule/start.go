package schedule

import (
	"math/bits"
	"time"

	"sluice/internal/domain"
)

const (
	// calmShare is which part of the time between two runs the spread that
	// nobody chose takes at most.
	calmShare = 10
	// quietSteps bounds how many quiet hours are left one after the other: a
	// day may be without a free minute when clocks change, more are not.
	quietSteps = 4
)

// start is when a run could begin, and why then.
type start struct {
	at     time.Time
	reason string
	// period is the time between two runs; zero if there is no fixed one.
	period time.Duration
}

// plan moves a start by its account's share and out of quiet hours, and makes
// it a new run's.
func (s start) plan(p Policy, account int64, now time.Time) Plan {
	share := share(account, p.spread(s.period))
	s.at = s.at.Add(share)
	s.leaveQuiet(p, share, now)
	return Plan{At: s.at.UTC().Round(0), Priority: domain.PriorityLow, Reason: s.reason}
}

// spread returns by how much the starts of accounts differ at most.
func (p Policy) spread(period time.Duration) time.Duration {
	if p.Spread == nil && period > 0 {
		return min(DefaultSpread, period/calmShare)
	}
	return max(0, orElse(p.Spread, DefaultSpread))
}

// leaveQuiet moves a start that lies in quiet hours to their end and by the
// account's share beyond it: all accounts of a night end there.
func (s *start) leaveQuiet(p Policy, share time.Duration, now time.Time) {
	quiet, err := p.hours()
	if err != nil {
		s.reason += "; " + err.Error()
		return
	}
	end, inside := quiet.Until(s.at)
	if !inside {
		return
	}
	for range quietSteps {
		if s.at, inside = beyond(quiet, end, share); !inside {
			break
		}
		end, _ = quiet.Until(s.at)
	}
	s.reason += "; quiet hours " + quiet.String() + " end at " + clock(end, now)
}

// beyond returns the end of quiet hours moved by a share, or by as much of it as
// lies before the next quiet hours begin. It reports whether they begin at once.
func beyond(quiet domain.Hours, end time.Time, share time.Duration) (at time.Time, quietStill bool) {
	for ; ; share /= 2 {
		at = end.Add(share)
		if _, quietStill = quiet.Until(at); !quietStill || share == 0 {
			return at, quietStill
		}
	}
}

// share returns an account's part of a spread, from 0 to all of it: the same
// each time, and evenly distributed whatever ids accounts have.
func share(account int64, spread time.Duration) time.Duration {
	hash := uint64(account) + 0x9E3779B97F4A7C15
	hash = (hash ^ hash>>30) * 0xBF58476D1CE4E5B9
	hash = (hash ^ hash>>27) * 0x94D049BB133111EB
	hash ^= hash >> 31
	part, _ := bits.Mul64(hash, uint64(spread)+1)
	return time.Duration(part)
}
