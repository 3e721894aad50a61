// Package notifytest is what every store of notifications must pass.
package notifytest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/notify"
	"sluice/internal/refresh"
	"sluice/internal/state"
	"sluice/internal/timer"
	"sluice/internal/webhook"
)

// Instance is a store and those in the same database that it reads.
type Instance struct {
	notify.Store
	State   state.Store
	Letters refresh.DeadLetters
	Timers  timer.Store
}

// Run runs every case, each with an empty database.
func Run(t *testing.T, open func(t *testing.T) Instance) {
	for name, check := range map[string]func(*fixture){
		"events of a kind become one message":     (*fixture).grouped,
		"an event is recorded once":               (*fixture).once,
		"many who record at once":                 (*fixture).crowd,
		"a target hears what it wants":            (*fixture).wanted,
		"the next message of a kind waits":        (*fixture).paced,
		"what was claimed takes no more":          (*fixture).sealed,
		"one of many claims":                      (*fixture).claimed,
		"a claim runs out":                        (*fixture).runsOut,
		"what failed comes back, and is given up": (*fixture).givenUp,
		"an attempt that is over settles nothing": (*fixture).fenced,
		"the mark never goes back":                (*fixture).mark,
		"what is old is forgotten":                (*fixture).forgotten,
		"messages are listed":                     (*fixture).listed,
		"messages are counted":                    (*fixture).counted,
		"tables tell what happened":               (*fixture).happened,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(&fixture{T: t, Instance: open(t)})
		})
	}
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type fixture struct {
	*testing.T
	Instance
	ids atomic.Int64
}

func (f *fixture) newID() string { return fmt.Sprintf("n%08d", f.ids.Add(1)) }

func everything(notify.Kind) bool { return true }

func (f *fixture) recording(now time.Time, events ...notify.Event) notify.Recording {
	return notify.Recording{
		Events: events, Now: now, NewID: f.newID,
		Targets: []notify.Wanted{{Target: "ops", Every: 5 * time.Minute, Wants: everything}},
	}
}

func (f *fixture) record(now time.Time, events ...notify.Event) int {
	f.Helper()
	n, err := f.Record(f.Context(), f.recording(now, events...))
	if err != nil {
		f.Fatalf("record: %v", err)
	}
	return n
}

func paused(key string) notify.Event {
	return notify.Event{Key: key, Kind: notify.AccountPaused, At: start, Source: "github", Login: "octo" + key, Text: "the token is refused"}
}

func (f *fixture) messages(q notify.Query) []notify.Message {
	f.Helper()
	all, err := f.Messages(f.Context(), q)
	if err != nil {
		f.Fatalf("messages: %v", err)
	}
	return all
}

func (f *fixture) due(now time.Time) []notify.Message {
	f.Helper()
	due, _, err := f.Due(f.Context(), now, 100)
	if err != nil {
		f.Fatalf("due: %v", err)
	}
	return due
}

func (f *fixture) claim(m notify.Message, now time.Time) notify.Message {
	f.Helper()
	claimed, mine, err := f.Claim(f.Context(), m.ID, m.Attempt, now)
	if err != nil || !mine {
		f.Fatalf("claim %s: %t, %v", m.ID, mine, err)
	}
	return claimed
}

func (f *fixture) settle(m notify.Message, at time.Time, r webhook.Result) {
	f.Helper()
	if err := f.Settle(f.Context(), notify.Settlement{ID: m.ID, Attempt: m.Attempt, At: at, Result: r}); err != nil {
		f.Fatalf("settle: %v", err)
	}
}

func (f *fixture) grouped() {
	var events []notify.Event
	for i := range 25 {
		events = append(events, paused(fmt.Sprint(i)))
	}
	if n := f.record(start, events[:5]...); n != 5 {
		f.Errorf("%d are new", n)
	}
	if n := f.record(start.Add(time.Second), events...); n != 20 {
		f.Errorf("%d more are new", n)
	}
	all := f.messages(notify.Query{})
	if len(all) != 1 || all[0].Count != 25 || len(all[0].Events) != 10 || all[0].Kind != notify.AccountPaused || all[0].State != notify.Waiting {
		f.Fatalf("the messages are %+v", all)
	}
	first := all[0].Events[0]
	if first.Login == "" || first.Source != "github" || first.Text != "the token is refused" || !first.At.Equal(start) {
		f.Errorf("the first event is %+v", first)
	}
	if due := f.due(start.Add(9 * time.Second)); len(due) != 0 {
		f.Errorf("it is due before it has gathered: %+v", due)
	}
	if due := f.due(start.Add(10 * time.Second)); len(due) != 1 {
		f.Errorf("%d are due", len(due))
	}
}

func (f *fixture) once() {
	f.record(start, paused("a"), paused("a"))
	for range 3 {
		if n := f.record(start.Add(time.Hour), paused("a")); n != 0 {
			f.Errorf("%d are new", n)
		}
	}
	if all := f.messages(notify.Query{}); len(all) != 1 || all[0].Count != 1 {
		f.Errorf("the messages are %+v", all)
	}
}

func (f *fixture) crowd() {
	var all sync.WaitGroup
	var added atomic.Int64
	for i := range 10 {
		all.Go(func() {
			// Each tells of five that others tell of as well.
			var events []notify.Event
			for k := range 10 {
				events = append(events, paused(fmt.Sprint(i*5+k)))
			}
			n, err := f.Record(f.Context(), f.recording(start, events...))
			if err != nil {
				f.Errorf("record: %v", err)
			}
			added.Add(int64(n))
		})
	}
	all.Wait()
	messages := f.messages(notify.Query{})
	if added.Load() != 55 || len(messages) != 1 || messages[0].Count != 55 {
		f.Errorf("%d were new, in %d messages: %+v", added.Load(), len(messages), messages)
	}
}

func (f *fixture) wanted() {
	r := f.recording(start, paused("a"), notify.OpenedBreaker("store", start))
	r.Targets = []notify.Wanted{
		{Target: "all", Every: time.Minute, Wants: everything},
		{Target: "breakers", Every: time.Minute, Wants: func(k notify.Kind) bool { return k == notify.BreakerOpen }},
		{Target: "none", Every: time.Minute, Wants: func(notify.Kind) bool { return false }},
	}
	if _, err := f.Record(f.Context(), r); err != nil {
		f.Fatal(err)
	}
	if got := len(f.messages(notify.Query{Target: "all"})); got != 2 {
		f.Errorf("all has %d messages", got)
	}
	if got := f.messages(notify.Query{Target: "breakers"}); len(got) != 1 || got[0].Kind != notify.BreakerOpen {
		f.Errorf("breakers has %+v", got)
	}
	if got := len(f.messages(notify.Query{Target: "none"})); got != 0 {
		f.Errorf("none has %d messages", got)
	}
}

func (f *fixture) paced() {
	f.record(start, paused("a"))
	at := start.Add(10 * time.Second)
	f.settle(f.claim(f.due(at)[0], at), at, webhook.Result{OK: true})
	f.record(at.Add(time.Second), paused("b"))
	f.record(at.Add(time.Minute), paused("c"))
	next := start.Add(10*time.Second + 5*time.Minute)
	if due := f.due(next.Add(-time.Microsecond)); len(due) != 0 {
		f.Errorf("due too soon: %+v", due)
	}
	if due := f.due(next); len(due) != 1 || due[0].Count != 2 {
		f.Errorf("due are %+v", due)
	}
	_, wakes, err := f.Due(f.Context(), at.Add(time.Minute), 10)
	if err != nil || !wakes.Equal(next) {
		f.Errorf("the next is at %v, %v, want %v", wakes, err, next)
	}
}

func (f *fixture) sealed() {
	f.record(start, paused("a"))
	at := start.Add(10 * time.Second)
	claimed := f.claim(f.due(at)[0], at)
	f.record(at, paused("b"))
	f.settle(claimed, at, webhook.Result{Error: "the receiver answered 500"})
	all := f.messages(notify.Query{})
	if len(all) != 2 || all[1].ID != claimed.ID || all[1].Count != 1 || all[1].Error == "" || all[0].Count != 1 {
		f.Errorf("the messages are %+v", all)
	}
}

func (f *fixture) claimed() {
	f.record(start, paused("a"))
	at := start.Add(time.Minute)
	seen := f.due(at)[0]
	var all sync.WaitGroup
	var claims atomic.Int64
	for range 10 {
		all.Go(func() {
			_, mine, err := f.Claim(f.Context(), seen.ID, seen.Attempt, at)
			if err != nil {
				f.Errorf("claim: %v", err)
			}
			if mine {
				claims.Add(1)
			}
		})
	}
	all.Wait()
	if claims.Load() != 1 {
		f.Errorf("%d have claimed it", claims.Load())
	}
	if due := f.due(at); len(due) != 0 {
		f.Errorf("it is due while it is claimed: %+v", due)
	}
}

func (f *fixture) runsOut() {
	f.record(start, paused("a"))
	at := start.Add(time.Minute)
	lost := f.claim(f.due(at)[0], at)
	later := at.Add(3 * time.Minute)
	again := f.due(later)
	if len(again) != 1 || again[0].ID != lost.ID || again[0].Count != 1 {
		f.Fatalf("due again are %+v", again)
	}
	taken := f.claim(again[0], later)
	f.settle(taken, later, webhook.Result{OK: true})
	f.settle(lost, later, webhook.Result{Error: "too late"})
	if all := f.messages(notify.Query{State: notify.Sent}); len(all) != 1 || all[0].Error != "" || !all[0].EndedAt.Equal(later) || all[0].Attempt != 2 {
		f.Errorf("sent are %+v", all)
	}
}

func (f *fixture) givenUp() {
	f.record(start, paused("a"))
	at := start.Add(time.Minute)
	for try := 1; try <= webhook.MaxTries; try++ {
		due := f.due(at)
		if len(due) != 1 || due[0].Tries != try-1 {
			f.Fatalf("try %d: due are %+v", try, due)
		}
		f.settle(f.claim(due[0], at), at, webhook.Result{Error: "the receiver answered 500 Internal Server Error"})
		at = at.Add(2 * time.Hour)
	}
	dead := f.messages(notify.Query{State: notify.Dead})
	if len(dead) != 1 || dead[0].Tries != webhook.MaxTries || dead[0].Error == "" || dead[0].EndedAt.IsZero() || len(f.due(at)) != 0 {
		f.Fatalf("dead are %+v", dead)
	}
	again, err := f.Retry(f.Context(), dead[0].ID, at)
	if err != nil || again.State != notify.Waiting || again.Tries != 0 || len(f.due(at)) != 1 {
		f.Fatalf("tried again: %+v, %v", again, err)
	}
	if _, err := f.Retry(f.Context(), dead[0].ID, at); domain.CodeOf(err) != domain.CodeConflict {
		f.Errorf("what waits can be tried again: %v", err)
	}
	if _, err := f.Retry(f.Context(), "nobody", at); domain.CodeOf(err) != domain.CodeNotFound {
		f.Errorf("what is not there can be tried again: %v", err)
	}
	f.settle(f.claim(f.due(at)[0], at), at, webhook.Result{Error: "gone", Permanent: true})
	if dead := f.messages(notify.Query{State: notify.Dead}); len(dead) != 1 || dead[0].Tries != 1 {
		f.Errorf("what is permanent is %+v", dead)
	}
}

func (f *fixture) fenced() {
	f.record(start, paused("a"))
	at := start.Add(time.Minute)
	m := f.claim(f.due(at)[0], at)
	f.settle(notify.Message{ID: m.ID, Attempt: m.Attempt - 1}, at, webhook.Result{OK: true})
	f.settle(notify.Message{ID: m.ID, Attempt: m.Attempt + 1}, at, webhook.Result{OK: true})
	if all := f.messages(notify.Query{State: notify.Sent}); len(all) != 0 {
		f.Errorf("sent are %+v", all)
	}
	if _, mine, err := f.Claim(f.Context(), m.ID, m.Attempt-1, at.Add(time.Hour)); mine || err != nil {
		f.Errorf("a claim by what was seen before: %t, %v", mine, err)
	}
}

func (f *fixture) mark() {
	if at, err := f.Mark(f.Context()); err != nil || !at.IsZero() {
		f.Fatalf("at first the mark is %v, %v", at, err)
	}
	for _, at := range []time.Time{start.Add(time.Hour), start, {}} {
		r := f.recording(start)
		r.Mark = at
		if _, err := f.Record(f.Context(), r); err != nil {
			f.Fatal(err)
		}
		if got, err := f.Mark(f.Context()); err != nil || !got.Equal(start.Add(time.Hour)) {
			f.Errorf("after %v the mark is %v, %v", at, got, err)
		}
	}
}

func (f *fixture) forgotten() {
	f.record(start, paused("a"))
	at := start.Add(time.Minute)
	f.settle(f.claim(f.due(at)[0], at), at, webhook.Result{OK: true})
	f.record(at, paused("b"))
	if n, err := f.Forget(f.Context(), start, 10); n != 0 || err != nil {
		f.Errorf("removed %d, %v", n, err)
	}
	if n, err := f.Forget(f.Context(), start.Add(time.Hour), 10); n != 3 || err != nil {
		f.Errorf("removed %d, %v, want a message and two keys", n, err)
	}
	if all := f.messages(notify.Query{}); len(all) != 1 || all[0].State != notify.Waiting {
		f.Errorf("left are %+v", all)
	}
}

func (f *fixture) listed() {
	for i := range 5 {
		f.record(start.Add(time.Duration(i)*time.Hour), notify.Event{Key: fmt.Sprint(i), Kind: notify.Kinds()[i], At: start, Text: "x"})
	}
	first := f.messages(notify.Query{Limit: 2})
	if len(first) != 2 || first[0].ID <= first[1].ID {
		f.Fatalf("the first page is %+v", first)
	}
	rest := f.messages(notify.Query{Before: first[1].ID})
	if len(rest) != 3 || rest[0].ID >= first[1].ID {
		f.Errorf("the rest is %+v", rest)
	}
}
