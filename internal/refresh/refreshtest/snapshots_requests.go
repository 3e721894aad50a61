package refreshtest

import (
	"fmt"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// request is one of a key, of a version.
func request(key string, version int64, p domain.Priority) refresh.Event {
	return refresh.Event{
		SchemaVersion: refresh.SchemaVersion, EventID: fmt.Sprint(key, "-", version, "-", p), Entity: entity(key), Priority: p,
		Reason: refresh.ReasonUserRequest, RequestedAt: start, CorrelationID: "it’s", Version: version,
	}
}

func parked(e refresh.Event, waits int, until time.Time) refresh.Pending {
	e.Waits = waits
	return refresh.Pending{Event: e, Code: "OPENAPI00009", Error: "it’s being 'prepared'", NotBefore: until}
}

func (x *fixture) accept(events ...refresh.Event) {
	x.Helper()
	x.ok(x.Accept(x.Context(), events))
}

func (x *fixture) park(requests ...refresh.Pending) {
	x.Helper()
	x.ok(x.Park(x.Context(), requests))
}

func (x *fixture) standing(key string) refresh.Standing {
	x.Helper()
	standings, err := x.Standings(x.Context(), []refresh.Entity{entity("nobody"), entity(key)})
	x.ok(err)
	want(x, "standings", len(standings), 2)
	want(x, "of nobody", standings[0], refresh.Standing{})
	return standings[1]
}

// unfinished lists the keys of what is in the log, in pages.
func (x *fixture) unfinished(p domain.Priority) (keys []string) {
	x.Helper()
	keys = []string{}
	for cursor := ""; ; {
		page, last, err := x.Unfinished(x.Context(), p, cursor, 2)
		x.ok(err)
		if len(page) == 0 {
			slices.Sort(keys)
			return keys
		}
		for _, r := range page {
			keys = append(keys, r.Key)
		}
		cursor = last
	}
}

func (x *fixture) wake(now time.Time, limit int) (due []refresh.Pending, next time.Time) {
	x.Helper()
	due, next, err := x.Wake(x.Context(), now, 30*time.Second, limit)
	x.ok(err)
	return due, next
}

func keysOfPending(requests []refresh.Pending) []string {
	keys := []string{}
	for _, r := range requests {
		keys = append(keys, r.Key)
	}
	return keys
}

const high, low = domain.PriorityHigh, domain.PriorityLow

var requestCases = []testCase{
	{"AcceptedUntilSaved", func(x *fixture) {
		x.accept(request("a", 3, high), request("b", 3, low), request("c", 3, high), request("d", 3, high))
		x.accept()
		want(x, "high", x.unfinished(high), []string{"a", "c", "d"})
		want(x, "low", x.unfinished(low), []string{"b"})
		x.reopen()
		want(x, "high", x.unfinished(high), []string{"a", "c", "d"})
		want(x, "standing", x.standing("a"), refresh.Standing{Request: 3, Priority: high})
		x.save(brought("a", 3, start, "1"), brought("c", 2, start, "1"), brought("d", 9, start, "1"))
		want(x, "high", x.unfinished(high), []string{"c"})
		x.save(brought("c", 4, start, "1"))
		want(x, "high", x.unfinished(high), []string{})
		want(x, "standing", x.standing("a"), refresh.Standing{Seen: 3, CheckedAt: start})
	}},
	{"AcceptedUntilSettled", func(x *fixture) {
		x.accept(request("a", 3, high), request("b", 3, high))
		x.ok(x.Settle(x.Context(), []refresh.Lock{{Entity: entity("a"), Version: 2}, {Entity: entity("b"), Version: 3}, {Entity: entity("c"), Version: 3}}))
		want(x, "high", x.unfinished(high), []string{"a"})
		x.ok(x.Settle(x.Context(), nil))
	}},
	{"LaterRequestTakesThePlace", func(x *fixture) {
		x.accept(request("a", 3, low))
		x.accept(request("a", 5, high))
		x.accept(request("a", 4, low))
		want(x, "standing", x.standing("a"), refresh.Standing{Request: 5, Priority: high})
		page, _, err := x.Unfinished(x.Context(), high, "", 10)
		x.ok(err)
		want(x, "unfinished", page, []refresh.Pending{{Event: request("a", 5, high)}})
	}},
	{"ParkedComesBackAtItsInstant", func(x *fixture) {
		none, next := x.wake(far, 10)
		want(x, "of nothing", len(none), 0)
		want(x, "next", next.IsZero(), true)
		first := parked(request("a", 3, high), 1, after(time.Minute))
		x.park(first, parked(request("b", 3, low), 1, after(time.Hour)))
		x.reopen()
		want(x, "in the log", x.unfinished(high), []string{})
		n, err := x.Waiting(x.Context())
		x.ok(err)
		want(x, "waiting", n, int64(2))
		want(x, "standing", x.standing("a"), refresh.Standing{Request: 3, Priority: high, Waits: 1, NotBefore: after(time.Minute)})
		due, next := x.wake(after(time.Minute-time.Microsecond), 10)
		want(x, "too early", keysOfPending(due), []string{})
		want(x, "next", next, after(time.Minute))
		due, next = x.wake(after(time.Minute), 10)
		want(x, "due", due, []refresh.Pending{first})
		want(x, "next", next, after(time.Hour))
		// Nobody else gets it, and if its publishing fails it comes again.
		due, _ = x.wake(after(time.Minute+29*time.Second), 10)
		want(x, "claimed", keysOfPending(due), []string{})
		due, _ = x.wake(after(time.Minute+30*time.Second), 10)
		want(x, "again", keysOfPending(due), []string{"a"})
		x.ok(x.Woken(x.Context(), due))
		want(x, "in the log", x.unfinished(high), []string{"a"})
		due, next = x.wake(after(59*time.Minute), 10)
		want(x, "once", keysOfPending(due), []string{})
		want(x, "next", next, after(time.Hour))
	}},
	{"PutOffAgainBeforeItIsWoken", func(x *fixture) {
		x.park(parked(request("a", 3, high), 1, after(time.Minute)))
		due, _ := x.wake(after(time.Minute), 10)
		want(x, "due", keysOfPending(due), []string{"a"})
		// Whoever got it from the log was faster than who put it there.
		again := parked(request("a", 3, high), 2, after(2*time.Minute))
		x.park(again)
		x.ok(x.Woken(x.Context(), due))
		due, _ = x.wake(after(2*time.Minute), 10)
		want(x, "due again", due, []refresh.Pending{again})
		x.ok(x.Woken(x.Context(), nil))
	}},
	{"WakesTheEarliestFirst", func(x *fixture) {
		for i := range 7 {
			x.park(parked(request(keyOf(i), 1, low), 1, after(time.Duration(7-i)*time.Second)))
		}
		due, next := x.wake(after(5*time.Second), 3)
		want(x, "due", keysOfPending(due), []string{keyOf(6), keyOf(5), keyOf(4)})
		want(x, "more is due", next.After(after(5*time.Second)), false)
		due, next = x.wake(after(5*time.Second), 3)
		want(x, "due", keysOfPending(due), []string{keyOf(3), keyOf(2)})
		want(x, "next", next, after(6*time.Second))
	}},
	{"ParkedStandsForLaterOnes", func(x *fixture) {
		x.park(parked(request("a", 3, low), 1, after(time.Hour)))
		x.accept(request("a", 5, low))
		want(x, "standing", x.standing("a"), refresh.Standing{Request: 3, Priority: low, Waits: 1, NotBefore: after(time.Hour)})
		x.accept(request("a", 6, high))
		want(x, "more urgent", x.standing("a"), refresh.Standing{Request: 6, Priority: high})
		x.park(parked(request("a", 5, low), 2, after(time.Hour)))
		want(x, "an earlier one changes nothing", x.standing("a"), refresh.Standing{Request: 6, Priority: high})
		// What only could not be published gives way.
		x.park(parked(request("b", 3, high), 0, after(time.Hour)))
		x.accept(request("b", 4, high))
		want(x, "accepted", x.standing("b"), refresh.Standing{Request: 4, Priority: high})
	}},
	{"FollowedComesBack", func(x *fixture) {
		follow := func(key string, version int64) {
			x.ok(x.Follow(x.Context(), []refresh.Pending{parked(request(key, version, high), 0, after(time.Hour))}))
		}
		follow("a", 3)
		want(x, "nobody has accepted it", x.standing("a"), refresh.Standing{Request: 3, Priority: high, NotBefore: after(time.Hour)})
		due, _ := x.wake(far, 10)
		want(x, "due", keysOfPending(due), []string{"a"})
		x.accept(request("a", 3, high))
		want(x, "accepted, and perhaps never published", x.standing("a").NotBefore.IsZero(), false)
		x.ok(x.Woken(x.Context(), due))
		want(x, "in the log", x.standing("a"), refresh.Standing{Request: 3, Priority: high})
		follow("a", 2)
		want(x, "an earlier one", x.standing("a"), refresh.Standing{Request: 3, Priority: high})
		follow("a", 3)
		want(x, "joined once more", x.standing("a"), refresh.Standing{Request: 3, Priority: high, NotBefore: after(time.Hour)})
		follow("a", 4)
		want(x, "a later one", x.standing("a"), refresh.Standing{Request: 4, Priority: high, NotBefore: after(time.Hour)})
		x.park(parked(request("b", 3, low), 1, after(2*time.Hour)))
		follow("b", 5)
		want(x, "put off by the upstream", x.standing("b"), refresh.Standing{Request: 3, Priority: low, Waits: 1, NotBefore: after(2 * time.Hour)})
		x.save(brought("a", 4, start, "1"))
		want(x, "saved", x.standing("a"), refresh.Standing{Seen: 4, CheckedAt: start})
	}},
	{"SavingEndsWhatWaits", func(x *fixture) {
		x.park(parked(request("a", 3, high), 1, after(time.Hour)), parked(request("b", 3, high), 1, after(time.Hour)))
		x.save(brought("a", 3, start, "1"), brought("b", 2, start, "1"))
		due, _ := x.wake(far, 10)
		want(x, "due", keysOfPending(due), []string{"b"})
	}},
	{"StandingKnowsWhatFailed", func(x *fixture) {
		x.store(brought("a", 2, start, "1"))
		x.setStatus(retrying("a", 3))
		want(x, "retrying", x.standing("a"), refresh.Standing{Seen: 2, CheckedAt: start})
		x.setStatus(failed("a", 4))
		want(x, "failed", x.standing("a"), refresh.Standing{Seen: 2, CheckedAt: start, Failed: 4})
		x.save(brought("a", 5, start, "1"))
		want(x, "saved", x.standing("a"), refresh.Standing{Seen: 5, CheckedAt: start})
	}},
	{"StatusTellsTheNextTry", func(x *fixture) {
		s := retrying("a", 3)
		s.ErrorCode, s.NextRetryAt = "OPENAPI00009", after(time.Hour)
		x.setStatus(s)
		want(x, "status", *x.status("a"), s.Status)
	}},
	{"RequestsThatAreWrong", func(x *fixture) {
		x.wantCode(x.Accept(x.Context(), []refresh.Event{request("a", 1, high), request("", 1, high)}), domain.CodeInvalid)
		x.wantCode(x.Park(x.Context(), []refresh.Pending{parked(request("a", 1, high), 1, start), parked(request("", 1, high), 1, start)}), domain.CodeInvalid)
		want(x, "high", x.unfinished(high), []string{})
		_, _, err := x.Unfinished(x.Context(), high, "no cursor", 1)
		x.wantCode(err, domain.CodeInvalid)
	}},
	{"EpochsAndMarks", func(x *fixture) {
		for _, epoch := range []string{"", "one", "two"} {
			if epoch != "" {
				x.ok(x.SetLogEpoch(x.Context(), "high", epoch))
			}
			got, err := x.LogEpoch(x.Context(), "high")
			x.ok(err)
			want(x, "epoch", got, epoch)
		}
		other, err := x.LogEpoch(x.Context(), "low")
		x.ok(err)
		want(x, "of another", other, "")
		for _, step := range [][2]int64{{0, 0}, {7, 7}, {5, 7}, {1 << 52, 1 << 52}} {
			x.ok(x.RaiseVersionMark(x.Context(), step[0]))
			mark, err := x.VersionMark(x.Context())
			x.ok(err)
			want(x, "mark", mark, step[1])
		}
	}},
	{"LookInTheFutureGivesWay", func(x *fixture) {
		// A clock was an hour ahead, and is set back.
		x.store(brought("a", 1, after(time.Hour), "1"), brought("b", 1, after(time.Second), "1"))
		x.save(brought("a", 2, start, "1"), brought("b", 2, start, "1"))
		want(x, "a", x.standing("a").CheckedAt, start)
		want(x, "b: clocks differ a little", x.standing("b").CheckedAt, after(time.Second))
	}},
	{"EachIsWokenOnce", func(x *fixture) {
		const n = 200
		for i := range n {
			x.park(parked(request(keyOf(i), 1, low), 1, start))
		}
		woken := make(chan []refresh.Pending, 8)
		together(8, func(int) {
			var all []refresh.Pending
			for {
				due, _, err := x.Wake(x.Context(), after(time.Second), time.Hour, 10)
				if err != nil {
					x.Error(err)
				}
				if len(due) == 0 {
					break
				}
				all = append(all, due...)
			}
			woken <- all
		})
		seen := map[string]int{}
		for range 8 {
			for _, r := range <-woken {
				seen[r.Key]++
			}
		}
		for key, times := range seen {
			want(x, key, times, 1)
		}
		// Where others were at work, some may be left.
		due, _ := x.wake(after(time.Second), n)
		want(x, "woken", len(seen)+len(due), n)
	}},
}
