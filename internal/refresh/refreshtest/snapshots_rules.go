package refreshtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// ruled is an entity to which random things happen. What comes of them is what
// the rules of the port say: a store that decides in its own language decides the
// same.
type ruled struct {
	known refresh.Known
	// kept is the request that is kept, nil if there is none.
	kept *refresh.Pending
	// status is the one that is kept; its version is 0 if there is none.
	status refresh.VersionedStatus
}

// standing is what the store must tell of it.
func (r *ruled) standing() (s refresh.Standing) {
	s.Seen = r.known.Seen
	if r.known.Checked > 0 {
		s.CheckedAt = time.UnixMicro(r.known.Checked).UTC()
	}
	if r.status.Code == refresh.StatusFailed {
		s.Failed = r.status.Version
	}
	if r.kept != nil {
		s.Request, s.Priority, s.Waits, s.NotBefore = r.kept.Version, r.kept.Priority, r.kept.Waits, r.kept.NotBefore
	}
	return s
}

// checkRules makes random calls and compares what comes of them with the rules
// beside the port.
func checkRules(x *fixture) {
	dice := rand.New(rand.NewPCG(testkit.Seed(x.t), 2))
	tiers, err := refresh.NewTiers(refresh.TierOptions{})
	x.ok(err)
	entities := map[string]*ruled{}
	for i := range 6 {
		entities[fmt.Sprint("ruled-", i)] = &ruled{}
	}
	now, largest := start, int64(3)
	for range testkit.Effort(80, 1000) {
		now = now.Add(time.Duration(dice.IntN(20e6)) * time.Microsecond)
		key := fmt.Sprint("ruled-", dice.IntN(len(entities)))
		r, version := entities[key], max(1, largest-dice.Int64N(4))
		if dice.IntN(4) == 0 {
			largest++
		}
		event := request(key, version, domain.Priority(1+dice.IntN(2)))
		switch dice.IntN(8) {
		case 0:
			x.accept(event)
			if r.kept == nil || r.kept.Accepts(&event) {
				r.kept = &refresh.Pending{Event: event}
			}
		case 1:
			p := parked(event, dice.IntN(3), now.Add(time.Duration(dice.IntN(30e6))*time.Microsecond))
			x.park(p)
			if r.kept == nil || r.kept.Parks(&p) {
				r.kept = &p
			}
		case 2:
			x.wakesByTheRules(entities, now, dice)
		case 3:
			x.ok(x.Settle(x.Context(), []refresh.Lock{{Entity: entity(key), Version: version}}))
			if r.kept != nil && r.kept.Settles(version) {
				r.kept = nil
			}
		case 4:
			p := parked(event, 0, now.Add(time.Duration(dice.IntN(30e6))*time.Microsecond))
			x.ok(x.Follow(x.Context(), []refresh.Pending{p}))
			if r.kept == nil || r.kept.Follows(&p) {
				r.kept = &p
			}
		case 5:
			code := []refresh.StatusCode{refresh.StatusFailed, refresh.StatusRetrying}[dice.IntN(2)]
			s := status(key, code, version)
			x.setStatus(s)
			if s.Counts(r.known.Seen, r.status.Version) {
				r.status = s
			}
		default:
			// A look may be dated before another that is stored already.
			b := brought(key, version, now.Add(-time.Duration(dice.IntN(3e6))*time.Microsecond), fmt.Sprint("body ", dice.IntN(3)))
			// Some are held up for long after they have looked.
			if b.Now = now; dice.IntN(4) == 0 {
				b.At = b.At.Add(-2 * refresh.ClockSkew)
			}
			result := b.Result()
			as := r.known.Judge(&result)
			want(x, "saved", x.save(b), []refresh.Saved{as})
			r.known.Save(&result, as, tiers)
			if as != refresh.Obsolete {
				r.status = refresh.VersionedStatus{}
				if r.kept != nil && r.kept.Settles(r.known.Seen) {
					r.kept = nil
				}
			}
		}
		for key, r := range entities {
			want(x, "standing of "+key, x.standing(key), r.standing())
		}
	}
}

// wakesByTheRules brings back what is due, and says so of some.
func (x *fixture) wakesByTheRules(entities map[string]*ruled, now time.Time, dice *rand.Rand) {
	x.Helper()
	due, _, err := x.Wake(x.Context(), now, time.Minute, 100)
	x.ok(err)
	n := 0
	for _, r := range entities {
		if r.kept != nil && !r.kept.NotBefore.IsZero() && !r.kept.NotBefore.After(now) {
			r.kept.NotBefore = now.Add(time.Minute)
			n++
		}
	}
	want(x, "woken", len(due), n)
	for i := range due {
		// Some have been put off once more by then.
		if dice.IntN(3) == 0 {
			due[i].Waits++
		}
		if k := entities[due[i].Key].kept; k.Wakes(&due[i]) {
			k.NotBefore = time.Time{}
		}
	}
	x.ok(x.Woken(x.Context(), due))
}
