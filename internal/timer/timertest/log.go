package timertest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/timer"
)

// LogFactory opens logs for the cases.
type LogFactory struct {
	// New opens an empty log that nothing else uses. It is closed when the
	// test ends.
	New func(t *testing.T) timer.Log
}

// RunLog runs every case.
func RunLog(t *testing.T, f LogFactory) {
	for _, c := range slices.Concat(logHistoryCases, statsCases, pruneCases) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(&logFixture{TB: t, Log: f.New(t)})
		})
	}
}

type logCase struct {
	name  string
	check func(*logFixture)
}

// logFixture is a log and the words the cases are written in.
type logFixture struct {
	testing.TB
	timer.Log
}

func (x *logFixture) ok(err error) {
	x.Helper()
	if err != nil {
		x.Fatalf("unexpected error: %v", err)
	}
}

func (x *logFixture) append(completions ...timer.Completion) {
	x.Helper()
	x.ok(x.Append(x.Context(), completions))
}

// all lists everything there is, in one page.
func (x *logFixture) all() []timer.Completion {
	x.Helper()
	const plenty = 100_000
	got, err := x.Completions(x.Context(), time.Time{}, "", plenty)
	x.ok(err)
	return got
}

// expect checks that exactly these are there, in this order.
func (x *logFixture) expect(want ...timer.Completion) {
	x.Helper()
	x.same(x.all(), want)
}

func (x *logFixture) same(got, want []timer.Completion) {
	x.Helper()
	if len(got) != len(want) {
		x.Fatalf("got %d completions (%s), want %d (%s)", len(got), ids(got), len(want), ids(want))
	}
	for i := range want {
		got[i].Record = "" // what a log calls it is its own
		if !reflect.DeepEqual(got[i], want[i]) {
			x.Errorf("place %d: got %+v, want %+v", i, got[i], want[i])
		}
	}
}

func (x *logFixture) prune(before time.Time, limit, want int) {
	x.Helper()
	n, err := x.Prune(x.Context(), before, limit)
	x.ok(err)
	if n != want {
		x.Errorf("%d completions were removed, want %d", n, want)
	}
}

// ids names the first of some completions.
func ids(completions []timer.Completion) string {
	const some = 20
	var out []string
	for i, c := range completions {
		if i == some {
			out = append(out, "…")
			break
		}
		out = append(out, c.Timer)
	}
	return strings.Join(out, " ")
}

// instant has microseconds, so that a log that keeps less is found out.
func instant(n int) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 123457000, time.UTC).Add(time.Duration(n) * time.Minute)
}

// completion is one that went well, a millisecond and a half after its instant.
func completion(id string, due time.Time) timer.Completion {
	const lateness = 1500 * time.Microsecond
	return timer.Completion{
		Timer: id, Due: due, FiredAt: due.Add(lateness), Server: "server-1", Lateness: lateness, Success: true, Status: timer.Completed,
		Payload: fmt.Appendf(nil, `{"timer":%q}`, id),
	}
}
