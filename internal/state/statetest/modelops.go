package statetest

import (
	"reflect"

	"pgregory.net/rapid"

	"sluice/internal/domain"
	"sluice/internal/state"
)

func (m *model) createRun(rt *rapid.T) {
	account := rapid.SampledFrom(m.accounts).Draw(rt, "account")
	r, err := m.x.CreateRun(m.x.Context(), state.RunSpec{AccountID: account, Trigger: domain.TriggerManual, Priority: domain.PriorityLow})
	if busy := m.active(account); busy != nil {
		expectCode(rt, "create", err, domain.CodeConflict)
		if r.ID != busy.id {
			rt.Fatalf("conflict with run %d, want %d", r.ID, busy.id)
		}
		return
	}
	expectCode(rt, "create", err, "")
	m.runs = append(m.runs, &modelRun{id: r.ID, account: account, status: domain.RunCreated, priority: domain.PriorityLow})
}

func (m *model) plan(rt *rapid.T) {
	r := m.pickRun(rt, domain.RunCreated)
	if m.paused[r.account] {
		rt.Skip("nobody plans for a paused account")
	}
	planned := drawSpecs(rt, 1)
	refs, err := m.x.PlanRun(m.x.Context(), r.id, planned)
	expectCode(rt, "plan", err, "")
	r.status = domain.RunRunning
	m.add(rt, r.id, planned, refs, domain.JobReady, r.priority)
}

func (m *model) claim(rt *rapid.T) {
	if len(m.jobs) == 0 {
		rt.Skip("no job")
	}
	j := rapid.SampledFrom(m.jobs).Draw(rt, "job")
	got, err := m.x.take(state.Claim{Job: j.id, Attempt: j.attempt, At: m.x.instant()})
	if j.status != domain.JobReady && j.status != domain.JobRunning {
		expectCode(rt, "claim", err, domain.CodeStale)
		return
	}
	expectCode(rt, "claim", err, "")
	if j.status == domain.JobRunning {
		j.lost++
	}
	j.status = domain.JobRunning
	j.attempt++
	if got.Attempt != j.attempt || got.Resource != j.resource {
		rt.Fatalf("claimed %+v, want %+v", got, j)
	}
}

func (m *model) finish(rt *rapid.T) {
	j := m.pickJob(rt, domain.JobRunning)
	run := m.runOf(j.run)
	o := state.Outcome{
		Job: j.id, Attempt: j.attempt, At: m.x.instant(),
		To: rapid.SampledFrom([]domain.JobStatus{
			domain.JobSucceeded, domain.JobSucceeded, domain.JobFailed, domain.JobReady, domain.JobPaused,
		}).Draw(rt, "to"),
		CountFailure: rapid.Bool().Draw(rt, "count"),
	}
	switch o.To {
	case domain.JobSucceeded:
		o.CountFailure = false
		o.Items = rapid.IntRange(0, 9).Draw(rt, "items")
		o.Next = drawSpecs(rt, 0)
	case domain.JobFailed:
		o.Failure = &domain.Failure{Kind: rapid.SampledFrom(modelKinds).Draw(rt, "kind"), Message: "it failed"}
		if rapid.IntRange(0, 3).Draw(rt, "fail run") == 0 {
			o.FailRun = "the root is gone"
		}
	case domain.JobPaused:
		o.PauseAccount = "401"
	}
	e, err := m.x.Finish(m.x.Context(), o)
	expectCode(rt, "finish", err, "")
	m.applied(rt, j, run, &o, e)
	m.last, m.effect = &o, e
}

// applied does to the model what the outcome must have done to the store.
func (m *model) applied(rt *rapid.T, j *modelJob, run *modelRun, o *state.Outcome, e state.Effect) {
	j.status = o.To
	if o.To == domain.JobFailed {
		j.kind = o.Failure.Kind
	}
	if o.CountFailure {
		j.failures++
	}
	if o.PauseAccount != "" {
		m.paused[run.account] = true
	}
	status := domain.JobReady
	if m.paused[run.account] {
		status = domain.JobPaused
		for _, other := range m.unfinished(run.id) {
			if other.status == domain.JobReady {
				other.status = domain.JobPaused
			}
		}
	}
	m.add(rt, run.id, o.Next, e.Created, status, j.priority)
	var closed bool
	if o.FailRun != "" {
		m.end(run, domain.RunFailed)
		closed = true
	} else {
		closed = m.settle(run)
	}
	if (e.Closed != nil) != closed || (closed && e.Closed.Status != run.status) {
		rt.Fatalf("closed as %+v, want %v", e.Closed, closed)
	}
}

// repeat makes the last Finish again, as one whose answer was lost does. It
// may have been overtaken, but nothing may change.
func (m *model) repeat(rt *rapid.T) {
	if m.last == nil {
		rt.Skip("nothing to repeat")
	}
	e, err := m.x.Finish(m.x.Context(), *m.last)
	if err != nil {
		expectCode(rt, "repeat", err, domain.CodeStale)
		return
	}
	if e.Closed == nil && m.effect.Closed != nil && m.effect.Closed.Status == m.runOf(m.effect.Closed.ID).status {
		rt.Fatalf("repeated effect %+v, want %+v", e, m.effect)
	}
}

func (m *model) outdated(rt *rapid.T) {
	j := m.pickJob(rt, domain.JobRunning, domain.JobReady, domain.JobSucceeded, domain.JobFailed, domain.JobCanceled)
	off := rapid.SampledFrom([]int64{-1, 1}).Draw(rt, "off")
	o := state.Outcome{Job: j.id, Attempt: j.attempt + off, At: m.x.instant(), To: domain.JobSucceeded, Next: specs("outdated")}
	e, err := m.x.Finish(m.x.Context(), o)
	expectCode(rt, "outdated", err, domain.CodeStale)
	if !reflect.DeepEqual(e, state.Effect{}) {
		rt.Fatalf("an outdated outcome had the effect %+v", e)
	}
}

func (m *model) cancel(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "really") > 0 {
		rt.Skip("not now")
	}
	r := m.pickRun(rt, domain.RunCreated, domain.RunRunning, domain.RunFinalizing)
	_, err := m.x.CancelRun(m.x.Context(), r.id, "enough")
	expectCode(rt, "cancel", err, "")
	m.end(r, domain.RunCanceled)
}

// end ends a run and cancels what is left of it.
func (m *model) end(r *modelRun, to domain.RunStatus) {
	r.status = to
	r.ended++
	for _, j := range m.unfinished(r.id) {
		j.status, j.with = domain.JobCanceled, r.ended
	}
}

func (m *model) complete(rt *rapid.T) {
	r := m.pickRun(rt, domain.RunCreated, domain.RunRunning, domain.RunFinalizing, domain.RunCompleted)
	_, err := m.x.CompleteRun(m.x.Context(), r.id, []byte("{}"))
	if r.status < domain.RunFinalizing {
		expectCode(rt, "complete", err, domain.CodeIllegalMove)
		return
	}
	expectCode(rt, "complete", err, "")
	r.status = domain.RunCompleted
}

func (m *model) pause(rt *rapid.T) {
	m.setState(rt, domain.AccountPaused, domain.JobReady, domain.JobPaused)
}

func (m *model) resume(rt *rapid.T) {
	m.setState(rt, domain.AccountActive, domain.JobPaused, domain.JobReady)
}

func (m *model) setState(rt *rapid.T, to domain.AccountState, from, become domain.JobStatus) {
	account := rapid.SampledFrom(m.accounts).Draw(rt, "account")
	refs, err := m.x.SetAccountState(m.x.Context(), account, to, "on request")
	expectCode(rt, string(to), err, "")
	m.paused[account] = to == domain.AccountPaused
	moved := 0
	for _, j := range m.jobs {
		if r := m.runOf(j.run); r.account == account && j.status == from {
			j.status = become
			moved++
		}
	}
	if len(refs) != moved {
		rt.Fatalf("%s moved %d jobs, want %d", to, len(refs), moved)
	}
}

func (m *model) recover(rt *rapid.T) {
	const maxLost = 1
	n, ended, err := m.x.RecoverRunning(m.x.Context(), maxLost)
	expectCode(rt, "recover", err, "")
	recovered := 0
	for _, j := range m.jobs {
		if j.status != domain.JobRunning {
			continue
		}
		j.lost++
		switch {
		case j.lost > maxLost:
			j.status, j.kind = domain.JobFailed, domain.FailureLost
		case m.paused[m.runOf(j.run).account]:
			j.status = domain.JobPaused
			recovered++
		default:
			j.status = domain.JobReady
			recovered++
		}
	}
	closed := 0
	for _, r := range m.runs {
		if m.settle(r) {
			closed++
		}
	}
	if n != recovered || len(ended) != closed {
		rt.Fatalf("recovered %d and ended %d, want %d and %d", n, len(ended), recovered, closed)
	}
}

func (m *model) retry(rt *rapid.T) {
	j := m.pickJob(rt, domain.JobFailed)
	r := m.runOf(j.run)
	if m.paused[r.account] {
		rt.Skip("nobody retries for a paused account")
	}
	_, err := m.x.RetryJob(m.x.Context(), j.id)
	busy := m.active(r.account)
	switch {
	case r.status == domain.RunFinalizing || (busy != nil && busy != r):
		expectCode(rt, "retry", err, domain.CodeConflict)
		return
	case r.status == domain.RunCanceled:
		expectCode(rt, "retry", err, domain.CodeIllegalMove)
		return
	}
	expectCode(rt, "retry", err, "")
	r.status = domain.RunRunning
	j.status, j.failures, j.lost = domain.JobReady, 0, 0
}
