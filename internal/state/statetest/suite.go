// Package statetest is what every state store must pass: each promise of the
// port in a case of its own, then random sequences of calls against a model
// that is too simple to be wrong.
package statetest

import (
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// Instance is an open store and what a case may do to it.
type Instance struct {
	state.Store
	// Documents reads what outcomes stored; nil when documents live elsewhere.
	Documents document.Reader
	// Reopen closes the store and opens it again.
	Reopen func(t *testing.T) *Instance
	// Crash opens what would be left if the process died now, without closing
	// the store; nil when the adapter has no way to show it.
	Crash func(t *testing.T) *Instance
}

// Factory opens stores for the cases.
type Factory struct {
	// New opens an empty store that nothing else uses. The store is closed
	// when the test ends.
	New func(t *testing.T) *Instance
}

// Run runs every case.
func Run(t *testing.T, f Factory) {
	cases := slices.Concat(accountCases, sealCases, runCases, planCases, claimCases, finishCases, nextCases, completionCases,
		repeatCases, documentCases, holdCases, endCases, retryCases, resumeCases, priorityCases, recoverCases, queryCases,
		collectionCases, harvestCases, retentionCases, textCases, totalCases, listCases, purgeCases, shareCases)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(newFixture(t, f.New(t)))
		})
	}
	t.Run("Rules", func(t *testing.T) {
		t.Parallel()
		checkRules(newFixture(t, f.New(t)))
	})
	t.Run("Model", func(t *testing.T) {
		t.Parallel()
		checkModel(t, f)
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
	*Instance
	t    *testing.T
	tick int64
}

func newFixture(t *testing.T, i *Instance) *fixture {
	return &fixture{TB: t, Instance: i, t: t}
}

// on is the same case on another instance.
func (x *fixture) on(i *Instance) *fixture {
	return &fixture{TB: x.t, Instance: i, t: x.t, tick: x.tick}
}

// instant returns a new instant, later than every one before.
func (x *fixture) instant() time.Time {
	x.tick++
	return instant(x.tick)
}

// instant has microseconds that do not end in zeros, so that a store that
// keeps less is found out.
func instant(n int64) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 123457000, time.UTC).Add(time.Duration(n) * time.Second)
}

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

func (x *fixture) account(login string) domain.Account {
	x.Helper()
	a, err := x.PutAccount(x.Context(), state.AccountSpec{
		Source: "github", Login: login, Name: "owner of " + login,
		Credential: state.Sealed{KeyID: "key-1", Data: []byte("sealed " + login)},
	})
	x.ok(err)
	return a
}

func (x *fixture) created(account int64) domain.Run {
	x.Helper()
	r, err := x.CreateRun(x.Context(), state.RunSpec{
		AccountID: account, Trigger: domain.TriggerManual, Priority: domain.PriorityHigh, Anchor: x.instant(),
	})
	x.ok(err)
	return r
}

// running returns a new account's run with jobs for these resources.
func (x *fixture) running(login string, resources ...string) (domain.Run, []domain.JobRef) {
	x.Helper()
	return x.runningFor(x.account(login).ID, resources...)
}

func (x *fixture) runningFor(account int64, resources ...string) (domain.Run, []domain.JobRef) {
	x.Helper()
	r := x.created(account)
	refs, err := x.PlanRun(x.Context(), r.ID, specs(resources...))
	x.ok(err)
	return x.run(r.ID), refs
}

func spec(resource string) domain.JobSpec {
	return domain.JobSpec{Type: "LIST", Resource: resource, Bucket: "core", Class: domain.ClassDiscovery, Params: []byte(`{"n":1}`)}
}

func specs(resources ...string) []domain.JobSpec {
	out := make([]domain.JobSpec, len(resources))
	for i, r := range resources {
		out[i] = spec(r)
	}
	return out
}

func page(resource, key string) domain.JobSpec {
	s := spec(resource)
	s.PageKey, s.Class = key, domain.ClassChild
	return s
}

func (x *fixture) run(id int64) domain.Run {
	x.Helper()
	r, err := x.Run(x.Context(), id)
	x.ok(err)
	return r
}

func (x *fixture) job(id int64) domain.Job {
	x.Helper()
	j, err := x.Job(x.Context(), id)
	x.ok(err)
	return j
}

func (x *fixture) claim(id int64) domain.Job {
	x.Helper()
	j, err := x.take(state.Claim{Job: id, Attempt: x.job(id).Attempt, At: x.instant()})
	x.ok(err)
	return j
}

// cursor is one of an account's cursors, zero if there is none.
func (x *fixture) cursor(account int64, resource string) (time.Time, error) {
	all, err := x.Cursors(x.Context(), account)
	return all[resource], err
}

// stored is a spec as its job shows it.
func stored(s domain.JobSpec, p domain.Priority) domain.JobSpec {
	s.Priority, s.Expected = p, s.Calls()
	return s
}

// take claims a job and reads it. It may be called from any goroutine.
func (x *fixture) take(c state.Claim) (domain.Job, error) {
	if err := x.Claim(x.Context(), c); err != nil {
		return domain.Job{}, err
	}
	return x.Job(x.Context(), c.Job)
}

func (x *fixture) finish(o state.Outcome) state.Effect {
	x.Helper()
	e, err := x.Finish(x.Context(), o)
	x.ok(err)
	// Rows are a convenience that an adapter may leave out; where they are,
	// they must be the truth.
	for _, row := range e.Rows {
		if slices.ContainsFunc(e.Created, func(ref domain.JobRef) bool { return ref.ID == row.ID }) {
			want(x, "row of a created job", row, x.job(row.ID))
		}
	}
	e.Rows = nil
	return e
}

// outcome is a plain outcome of a claimed job.
func (x *fixture) outcome(j domain.Job, to domain.JobStatus) state.Outcome {
	return state.Outcome{Job: j.ID, Attempt: j.Attempt, At: x.instant(), To: to}
}

// succeed claims a job and ends it well.
func (x *fixture) succeed(id int64, next ...domain.JobSpec) state.Effect {
	x.Helper()
	o := x.outcome(x.claim(id), domain.JobSucceeded)
	o.Next = next
	return x.finish(o)
}

// fail claims a job and ends it badly.
func (x *fixture) fail(id int64) state.Effect {
	x.Helper()
	o := x.outcome(x.claim(id), domain.JobFailed)
	o.Failure = &domain.Failure{Kind: domain.FailureServer, Message: "502"}
	return x.finish(o)
}

func (x *fixture) waitingIDs() []int64 {
	x.Helper()
	ids := []int64{}
	x.ok(x.Waiting(x.Context(), func(r domain.JobRef) error {
		ids = append(ids, r.ID)
		return nil
	}))
	return ids
}

// jobsOf lists all jobs of a run.
func (x *fixture) jobsOf(run int64) []domain.Job {
	x.Helper()
	jobs, err := x.Jobs(x.Context(), state.JobQuery{RunID: run, Limit: 1 << 20})
	x.ok(err)
	return jobs
}

// wantCounts checks a run's counters against the jobs there really are.
func (x *fixture) wantCounts(run int64) domain.Run {
	x.Helper()
	r := x.run(run)
	if problem := countsProblem(r, x.jobsOf(run)); problem != "" {
		x.Fatalf("run %d: %s", run, problem)
	}
	return r
}

// countsProblem says how a run's counters differ from its jobs.
func countsProblem(r domain.Run, jobs []domain.Job) string {
	var c domain.RunCounts
	for _, j := range jobs {
		c.Calls += j.Attempt
		switch j.Status {
		case domain.JobSucceeded:
			c.Succeeded++
			c.Documents += int64(j.Items)
		case domain.JobFailed:
			c.Failed++
		case domain.JobCanceled:
			c.Canceled++
		default:
			c.Pending++
		}
	}
	c.Known = r.Known
	if c != r.RunCounts {
		return "counters are " + counts(r.RunCounts) + ", jobs say " + counts(c)
	}
	if total := int64(len(jobs)); r.Known < total || (r.Status > domain.RunRunning && r.Known != total) {
		return counts(r.RunCounts) + " with " + strconv.FormatInt(total, 10) + " jobs in a run that is " + r.Status.String()
	}
	return ""
}

func counts(c domain.RunCounts) string {
	b := []byte("known")
	for i, n := range []int64{c.Known, c.Pending, c.Succeeded, c.Failed, c.Canceled, c.Calls, c.Documents} {
		b = append(b, []string{" ", ", pending ", ", succeeded ", ", failed ", ", canceled ", ", calls ", ", documents "}[i]...)
		b = strconv.AppendInt(b, n, 10)
	}
	return string(b)
}

func refIDs(refs []domain.JobRef) []int64 {
	ids := make([]int64, len(refs))
	for i, r := range refs {
		ids[i] = r.ID
	}
	return ids
}

// together runs fn in a crowd and waits for all.
func together(n int, fn func(i int)) {
	start, done := make(chan struct{}), make(chan struct{})
	for i := range n {
		go func() {
			<-start
			fn(i)
			done <- struct{}{}
		}()
	}
	close(start)
	for range n {
		<-done
	}
}
