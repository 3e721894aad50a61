package timertest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/timer"
)

// StoreInstance is an open store and what a case may do to it.
type StoreInstance struct {
	timer.Store
	// Reopen closes the store and opens it again.
	Reopen func(t *testing.T) *StoreInstance
}

// StoreFactory opens stores for the cases.
type StoreFactory struct {
	// New opens an empty store that nothing else uses. The store is closed
	// when the test ends.
	New func(t *testing.T) *StoreInstance
}

// RunStore runs every case.
func RunStore(t *testing.T, f StoreFactory) {
	for _, c := range slices.Concat(putCases, queryCases, changeCases, fireCases, settleCases, dueCases, historyCases, followCases, repeatCases) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(&fixture{TB: t, StoreInstance: f.New(t), t: t})
		})
	}
	t.Run("Rules", func(t *testing.T) {
		t.Parallel()
		checkRules(&fixture{TB: t, StoreInstance: f.New(t), t: t})
	})
	t.Run("Model", func(t *testing.T) {
		t.Parallel()
		checkModel(&fixture{TB: t, StoreInstance: f.New(t), t: t})
	})
}

type testCase struct {
	name  string
	check func(*fixture)
}

// crowd is how many goroutines the concurrent cases use.
const crowd = 50

// fixture is a store and the words the cases are written in.
type fixture struct {
	testing.TB
	*StoreInstance
	t *testing.T
}

// on is the same case on another instance.
func (x *fixture) on(i *StoreInstance) *fixture { return &fixture{TB: x.t, StoreInstance: i, t: x.t} }

// start is when the cases begin. It has microseconds that do not end in zeros,
// so that a store that keeps less is found out. It is long past, so that what
// a store dates by its own clock comes after all of a case.
var start = time.Date(2020, 3, 1, 12, 0, 0, 123457000, time.UTC)

// after is an instant of a case.
func after(d time.Duration) time.Time { return start.Add(d) }

func (x *fixture) ok(err error) {
	x.Helper()
	if err != nil {
		x.Fatalf("unexpected error: %v", err)
	}
}

func (x *fixture) wantCode(err error, code domain.Code) {
	x.Helper()
	if domain.CodeOf(err) != code {
		x.Fatalf("got error %v of code %q, want code %q", err, domain.CodeOf(err), code)
	}
}

func want[T any](x *fixture, what string, got, expected T) {
	x.Helper()
	if !reflect.DeepEqual(got, expected) {
		x.Fatalf("%s: got %+v, want %+v", what, got, expected)
	}
}

// spec is a timer that is due an hour after the start.
func spec(id string) timer.Spec {
	return timer.Spec{ID: id, At: after(time.Hour), Payload: []byte(`{"for":"` + id + `"}`)}
}

func hooked(id string) timer.Spec {
	s := spec(id)
	s.Webhook = "https://example.org/hook?a=1&b='x'"
	return s
}

// waiting is a spec as its timer shows it.
func waiting(s timer.Spec) timer.Timer {
	return timer.Timer{Spec: s, Status: timer.Waiting, SetAt: start, NextAt: s.At}
}

// put stores specs that are all new.
func (x *fixture) put(specs ...timer.Spec) []timer.Timer {
	x.Helper()
	stored, err := x.Put(x.Context(), specs, start)
	x.ok(err)
	want(x, "answers", len(stored), len(specs))
	out := make([]timer.Timer, len(specs))
	for i, s := range stored {
		if !s.New {
			x.Fatalf("timer %s was there already", s.ID)
		}
		out[i] = s.Timer
	}
	return out
}

// putMany stores n plain timers and returns their ids.
func (x *fixture) putMany(n int) []string {
	x.Helper()
	specs, ids := make([]timer.Spec, n), make([]string, n)
	for i := range specs {
		ids[i] = fmt.Sprintf("many-%06d", i)
		specs[i] = spec(ids[i])
	}
	for part := range slices.Chunk(specs, 1000) {
		x.put(part...)
	}
	return ids
}

func (x *fixture) timer(id string) timer.Timer {
	x.Helper()
	t, err := x.Timer(x.Context(), id)
	x.ok(err)
	return t
}

// all lists every timer.
func (x *fixture) all() []timer.Timer {
	x.Helper()
	out, err := x.Timers(x.Context(), timer.Query{Limit: 1 << 20})
	x.ok(err)
	return out
}

func idsOf[T any](list []T, id func(T) string) []string {
	ids := make([]string, len(list))
	for i, item := range list {
		ids[i] = id(item)
	}
	return ids
}

func timerID(t timer.Timer) string { return t.ID }

func dueID(d timer.Due) string { return d.ID }

func completionID(c timer.Completion) string { return c.Timer }

// firing fires at an instant what is due then.
func firing(at time.Time, ids ...string) timer.Firing {
	return timer.Firing{IDs: ids, Now: at, Server: "server-1", Grace: 15 * time.Second}
}

// fire returns what came of each timer, in the order of their ids.
func (x *fixture) fire(f timer.Firing) []timer.FireResult {
	x.Helper()
	fired, err := x.Fire(x.Context(), f)
	x.ok(err)
	slices.SortFunc(fired, func(a, b timer.FireResult) int { return strings.Compare(a.ID, b.ID) })
	return fired
}

func (x *fixture) settle(settled ...timer.Settlement) {
	x.Helper()
	x.ok(x.Settle(x.Context(), settled))
}

// inStatus stores a timer and brings it into a status.
func (x *fixture) inStatus(id string, status timer.Status) timer.Timer {
	x.Helper()
	x.put(hooked(id))
	switch status {
	case timer.Waiting:
	case timer.Canceled:
		_, err := x.Cancel(x.Context(), id)
		x.ok(err)
	default:
		x.fire(firing(after(2*time.Hour), id))
		if status != timer.Delivering {
			x.settle(timer.Settlement{ID: id, To: status, Tries: 3, Error: "it is " + status.String()})
		}
	}
	t := x.timer(id)
	want(x, "status", t.Status, status)
	return t
}

var allStatuses = []timer.Status{timer.Waiting, timer.Delivering, timer.Completed, timer.Dead, timer.Canceled}

// together runs fn in a crowd and waits for all.
func together(n int, fn func(i int)) {
	begin, done := make(chan struct{}), make(chan struct{})
	for i := range n {
		go func() {
			<-begin
			fn(i)
			done <- struct{}{}
		}()
	}
	close(begin)
	for range n {
		<-done
	}
}
