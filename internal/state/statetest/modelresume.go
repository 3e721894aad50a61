package statetest

import (
	"slices"

	"pgregory.net/rapid"

	"sluice/internal/domain"
)

// modelKinds are why jobs fail in the model.
var modelKinds = []domain.FailureKind{domain.FailureServer, domain.FailureGone, domain.FailureNone}

func drawPriority(rt *rapid.T) domain.Priority {
	return rapid.SampledFrom([]domain.Priority{domain.PriorityLow, domain.PriorityHigh}).Draw(rt, "priority")
}

// waitingOf lists the jobs of a run that must wait.
func (m *model) waitingOf(run int64) []int64 {
	ids := []int64{}
	for _, j := range m.unfinished(run) {
		if j.status == domain.JobReady {
			ids = append(ids, j.id)
		}
	}
	return sorted(ids)
}

// wantWaiting checks what a call said about the jobs of a run that wait.
func (m *model) wantWaiting(rt *rapid.T, run int64, refs []domain.JobRef) {
	if got, expected := refIDs(refs), m.waitingOf(run); !slices.Equal(got, expected) {
		rt.Fatalf("jobs %v of run %d wait, want %v", got, run, expected)
	}
	for _, ref := range refs {
		for _, j := range m.jobs {
			if j.id == ref.ID && j.priority != ref.Priority {
				rt.Fatalf("job %d waits with priority %s, want %s", j.id, ref.Priority, j.priority)
			}
		}
	}
}

// setPriority does to the model what another priority of a run must do.
func (m *model) setPriority(r *modelRun, p domain.Priority) {
	if p == r.priority {
		return
	}
	for _, j := range m.jobs {
		if j.run == r.id && j.status != domain.JobSucceeded {
			j.priority = p
		}
	}
	r.priority = p
}

func (m *model) prioritise(rt *rapid.T) {
	if len(m.runs) == 0 {
		rt.Skip("no run")
	}
	r, p := rapid.SampledFrom(m.runs).Draw(rt, "run"), drawPriority(rt)
	refs, err := m.x.SetRunPriority(m.x.Context(), r.id, p)
	if !r.status.Active() {
		expectCode(rt, "prioritise", err, domain.CodeConflict)
		return
	}
	expectCode(rt, "prioritise", err, "")
	m.setPriority(r, p)
	m.wantWaiting(rt, r.id, refs)
}

// goOn resumes any run, which only some allow.
func (m *model) goOn(rt *rapid.T) {
	if len(m.runs) == 0 {
		rt.Skip("no run")
	}
	r, p := rapid.SampledFrom(m.runs).Draw(rt, "run"), drawPriority(rt)
	kinds := rapid.SliceOfDistinct(rapid.SampledFrom(append([]domain.FailureKind{domain.FailureLost}, modelKinds...)),
		func(k domain.FailureKind) domain.FailureKind { return k }).Draw(rt, "kinds")
	var back []*modelJob
	for _, j := range m.jobs {
		failed := j.status == domain.JobFailed && slices.Contains(kinds, j.kind)
		canceled := j.status == domain.JobCanceled && r.status == domain.RunFailed && j.with == r.ended
		if j.run == r.id && (failed || canceled) {
			back = append(back, j)
		}
	}
	refs, err := m.x.ResumeRun(m.x.Context(), r.id, p, kinds)
	over := r.status == domain.RunFailed || r.status == domain.RunCompleted
	switch {
	case r.status == domain.RunRunning:
		expectCode(rt, "go on", err, "")
	case !over || len(back) == 0 || m.active(r.account) != nil:
		expectCode(rt, "go on", err, domain.CodeConflict)
		return
	default:
		expectCode(rt, "go on", err, "")
		m.setPriority(r, p)
		r.status = domain.RunRunning
		for _, j := range back {
			j.status, j.failures, j.lost = domain.JobReady, 0, 0
			if m.paused[r.account] {
				j.status = domain.JobPaused
			}
		}
	}
	m.wantWaiting(rt, r.id, refs)
}
