package engine_test

import (
	"strconv"
	"testing"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
)

// What earlier versions left in a queue that outlasts them: jobs by their number
// alone, chores as negative numbers. The worker has started before, so nothing
// but these entries tells it of the jobs.
func TestEntriesOfEarlierVersionsAreDone(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]func(run domain.Run, jobs []domain.Job) []int64{
		"jobs":          func(_ domain.Run, jobs []domain.Job) []int64 { return []int64{jobs[0].ID, jobs[1].ID} },
		"reconcile":     func(run domain.Run, _ []domain.Job) []int64 { return []int64{-(run.AccountID*16 + 2)} },
		"request":       func(run domain.Run, _ []domain.Job) []int64 { return []int64{-((17<<31|run.AccountID)*16 + 7)} },
		"rebuild":       func(domain.Run, []domain.Job) []int64 { return []int64{-3} },
		"reconcile all": func(domain.Run, []domain.Job) []int64 { return []int64{-(5*16 + 8)} },
		"all, and unknown": func(run domain.Run, jobs []domain.Job) []int64 {
			return []int64{-15, jobs[0].ID, -3, jobs[1].ID, -(run.AccountID*16 + 2)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEveryDispatcher(t, func(t *testing.T, m *team) {
				worker := m.works(nil)
				run, jobs := m.failBoth(worker)
				for _, job := range jobs {
					if _, err := m.first.State.RetryJob(t.Context(), job.ID); err != nil {
						t.Fatal(err)
					}
				}
				for _, number := range left(run, jobs) {
					e := dispatch.Entry{ID: strconv.FormatInt(number, 10), Lane: "left", Priority: domain.PriorityHigh, Class: domain.ClassChild}
					if err := m.ports.Dispatch.Push(t.Context(), e); err != nil {
						t.Fatal(err)
					}
				}
				if run := m.ends(worker, run.ID); run.Status != domain.RunCompleted || run.Succeeded != 2 || run.Failed != 0 {
					t.Errorf("run is %+v", run)
				}
				m.queueEmpties()
			})
		})
	}
}

// queueEmpties waits until nothing is left to be done.
func (m *team) queueEmpties() {
	m.t.Helper()
	for {
		stats, err := m.ports.Dispatch.Stats(m.t.Context())
		if err != nil {
			m.t.Fatal(err)
		}
		if stats.Ready+stats.Due+stats.Leased == 0 {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-m.t.Context().Done():
			m.t.Fatalf("left behind: %+v", stats)
		}
	}
}
