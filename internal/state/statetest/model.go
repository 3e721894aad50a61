package statetest

import (
	"cmp"
	"flag"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"sluice/internal/domain"
	"sluice/internal/state"
	"sluice/internal/testkit"
)

// checkModel makes random calls and compares the store, after each, with what
// a few maps say it must hold.
func checkModel(t *testing.T, f Factory) {
	// The seed says it all; files of failed sequences would only lie about.
	for name, value := range map[string]string{"rapid.seed": strconv.FormatUint(testkit.Seed(t), 10), "rapid.nofailfile": "true", "rapid.checks": strconv.Itoa(testkit.Effort(15, 100))} {
		if err := flag.Set(name, value); err != nil {
			t.Fatalf("set %s: %v", name, err)
		}
	}
	// Opening a store takes longer than a whole sequence, so all of them use
	// one; each has accounts of its own and leaves nothing active behind.
	x, sequences := newFixture(t, f.New(t)), 0
	rapid.Check(t, func(rt *rapid.T) {
		sequences++
		m := newModel(x, strconv.Itoa(sequences))
		defer m.cleanUp()
		rt.Repeat(map[string]func(*rapid.T){
			"createRun": m.createRun, "plan": m.plan, "claim": m.claim, "finish": m.finish, "repeat": m.repeat,
			"outdated": m.outdated, "cancel": m.cancel, "complete": m.complete, "pause": m.pause, "resume": m.resume,
			"recover": m.recover, "retry": m.retry, "goOn": m.goOn, "prioritise": m.prioritise, "": m.compare,
		})
	})
}

// modelRun and modelJob are what the model knows.
type modelRun struct {
	id, account int64
	status      domain.RunStatus
	priority    domain.Priority
	// ended counts how often the run failed or was canceled.
	ended int
}

type modelJob struct {
	id, run, attempt int64
	resource         string
	status           domain.JobStatus
	failures, lost   int
	priority         domain.Priority
	// kind is why the job failed, if it did.
	kind domain.FailureKind
	// with says which ending of the run canceled the job, if one did.
	with int
}

type model struct {
	x        *fixture
	accounts []int64
	paused   map[int64]bool
	runs     []*modelRun
	jobs     []*modelJob
	// last is the last outcome that was committed, and what it did.
	last   *state.Outcome
	effect state.Effect
}

func newModel(x *fixture, name string) *model {
	m := &model{x: x, paused: map[int64]bool{}}
	for _, login := range []string{"a", "b"} {
		m.accounts = append(m.accounts, x.account(login+name).ID)
	}
	return m
}

// cleanUp ends what is active, so that the next sequence finds no jobs.
func (m *model) cleanUp() {
	for _, account := range m.accounts {
		active, err := m.x.Runs(m.x.Context(), state.RunQuery{AccountID: account, ActiveOnly: true})
		if err != nil {
			m.x.Errorf("clean up: %v", err)
		}
		for _, r := range active {
			if _, err := m.x.CancelRun(m.x.Context(), r.ID, "the sequence is over"); err != nil {
				m.x.Errorf("clean up: %v", err)
			}
		}
	}
}

func expectCode(rt *rapid.T, what string, err error, code domain.Code) {
	rt.Helper()
	if domain.CodeOf(err) != code {
		rt.Fatalf("%s: got error %v, want code %q", what, err, code)
	}
}

func (m *model) runOf(id int64) *modelRun {
	for _, r := range m.runs {
		if r.id == id {
			return r
		}
	}
	return nil
}

func (m *model) active(account int64) *modelRun {
	for _, r := range m.runs {
		if r.account == account && r.status.Active() {
			return r
		}
	}
	return nil
}

func (m *model) pickRun(rt *rapid.T, statuses ...domain.RunStatus) *modelRun {
	fit := slices.DeleteFunc(slices.Clone(m.runs), func(r *modelRun) bool { return !slices.Contains(statuses, r.status) })
	if len(fit) == 0 {
		rt.Skip("no such run")
	}
	return rapid.SampledFrom(fit).Draw(rt, "run")
}

func (m *model) pickJob(rt *rapid.T, statuses ...domain.JobStatus) *modelJob {
	fit := slices.DeleteFunc(slices.Clone(m.jobs), func(j *modelJob) bool { return !slices.Contains(statuses, j.status) })
	if len(fit) == 0 {
		rt.Skip("no such job")
	}
	return rapid.SampledFrom(fit).Draw(rt, "job")
}

// unfinished lists the jobs of a run that have not ended.
func (m *model) unfinished(run int64) []*modelJob {
	return slices.DeleteFunc(slices.Clone(m.jobs), func(j *modelJob) bool { return j.run != run || j.status.Ended() })
}

// add notes jobs that a call must have created, of the given priority unless
// their spec has another.
func (m *model) add(rt *rapid.T, run int64, specs []domain.JobSpec, refs []domain.JobRef, status domain.JobStatus, p domain.Priority) {
	var fresh []domain.JobSpec
	named := func(name string) func(domain.JobSpec) bool {
		return func(s domain.JobSpec) bool { return s.Resource == name }
	}
	for _, s := range specs {
		known := slices.ContainsFunc(m.jobs, func(j *modelJob) bool { return j.run == run && j.resource == s.Resource })
		if !known && !slices.ContainsFunc(fresh, named(s.Resource)) {
			fresh = append(fresh, s)
		}
	}
	if status == domain.JobPaused {
		if len(refs) > 0 {
			rt.Fatalf("a paused account got %d new jobs", len(refs))
		}
		// They are not announced, so their ids come from the store.
		for _, j := range m.x.jobsOf(run) {
			if slices.ContainsFunc(fresh, named(j.Resource)) {
				refs = append(refs, domain.JobRef{ID: j.ID})
			}
		}
	}
	if len(refs) != len(fresh) {
		rt.Fatalf("created %d jobs, want %v", len(refs), fresh)
	}
	for i, ref := range refs {
		m.jobs = append(m.jobs, &modelJob{
			id: ref.ID, run: run, resource: fresh[i].Resource, status: status, priority: cmp.Or(fresh[i].Priority, p),
		})
	}
}

// settle closes a run whose last job has ended, as the store must.
func (m *model) settle(run *modelRun) bool {
	if run.status != domain.RunRunning || len(m.unfinished(run.id)) > 0 {
		return false
	}
	run.status = domain.RunFinalizing
	return true
}

func drawSpecs(rt *rapid.T, least int) []domain.JobSpec {
	out := specs(rapid.SliceOfN(rapid.SampledFrom(resources(8)), least, 3).Draw(rt, "resources")...)
	for i := range out {
		out[i].Priority = rapid.SampledFrom([]domain.Priority{0, 0, 0, domain.PriorityLow}).Draw(rt, "priority of its own")
	}
	return out
}

// compare checks everything against the model.
func (m *model) compare(rt *rapid.T) {
	var all []domain.Job
	for _, r := range m.runs {
		got, err := m.x.Run(m.x.Context(), r.id)
		expectCode(rt, "run", err, "")
		if got.Status != r.status || got.Priority != r.priority {
			rt.Fatalf("run %d is %s and %s, want %s and %s", r.id, got.Status, got.Priority, r.status, r.priority)
		}
		jobs := m.x.jobsOf(r.id)
		if problem := countsProblem(got, jobs); problem != "" {
			rt.Fatalf("run %d: %s", r.id, problem)
		}
		all = append(all, jobs...)
	}
	slices.SortFunc(all, func(a, b domain.Job) int { return int(a.ID - b.ID) })
	if len(all) != len(m.jobs) {
		rt.Fatalf("%d jobs, want %d", len(all), len(m.jobs))
	}
	waiting := []int64{}
	slices.SortFunc(m.jobs, func(a, b *modelJob) int { return int(a.id - b.id) })
	for i, j := range all {
		w := *m.jobs[i]
		got := modelJob{j.ID, j.RunID, j.Attempt, j.Resource, j.Status, j.Failures, j.Lost, j.Priority, w.kind, w.with}
		if w.status == domain.JobFailed {
			got.kind = j.ErrorKind
		}
		if got != w {
			rt.Fatalf("job is %+v, want %+v", got, w)
		}
		if w.status == domain.JobReady {
			waiting = append(waiting, w.id)
		}
	}
	if got := m.x.waitingIDs(); !slices.Equal(got, waiting) {
		rt.Fatalf("jobs %v wait, want %v", got, waiting)
	}
}
