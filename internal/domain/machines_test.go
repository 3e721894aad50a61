package domain_test

import (
	"slices"
	"testing"

	"sluice/internal/domain"
)

// The two state machines, written down a second time from the design: every
// pair that is not listed must be refused.
var (
	jobMoves = map[domain.JobStatus][]domain.JobStatus{
		domain.JobReady:    {domain.JobRunning, domain.JobPaused, domain.JobCanceled},
		domain.JobRunning:  {domain.JobReady, domain.JobSucceeded, domain.JobFailed, domain.JobPaused, domain.JobCanceled},
		domain.JobPaused:   {domain.JobReady, domain.JobCanceled},
		domain.JobFailed:   {domain.JobReady, domain.JobPaused},
		domain.JobCanceled: {domain.JobReady, domain.JobPaused},
	}
	runMoves = map[domain.RunStatus][]domain.RunStatus{
		domain.RunCreated:    {domain.RunPlanning, domain.RunFailed, domain.RunCanceled},
		domain.RunPlanning:   {domain.RunRunning, domain.RunFailed, domain.RunCanceled},
		domain.RunRunning:    {domain.RunFinalizing, domain.RunFailed, domain.RunCanceled},
		domain.RunFinalizing: {domain.RunCompleted, domain.RunFailed, domain.RunCanceled},
		domain.RunCompleted:  {domain.RunRunning},
		domain.RunFailed:     {domain.RunRunning, domain.RunFinalizing},
	}
)

// checkMachine tries every pair of states, two unknown ones among them.
func checkMachine[S ~uint8](t *testing.T, last S, moves map[S][]S, move func(from, to S) (S, error)) {
	t.Helper()
	for from := S(0); from <= last+1; from++ {
		for to := S(0); to <= last+1; to++ {
			got, err := move(from, to)
			if slices.Contains(moves[from], to) {
				if err != nil || got != to {
					t.Errorf("%d to %d: got %d with error %v, want it allowed", from, to, got, err)
				}
				continue
			}
			if domain.CodeOf(err) != domain.CodeIllegalMove || got != from {
				t.Errorf("%d to %d: got %d with error %v, want it refused", from, to, got, err)
			}
		}
	}
}

func TestJobMachine(t *testing.T) {
	checkMachine(t, domain.JobCanceled, jobMoves, domain.MoveJob)
}

func TestRunMachine(t *testing.T) {
	checkMachine(t, domain.RunCanceled, runMoves, domain.MoveRun)
}

func TestRefusalNamesBothStates(t *testing.T) {
	_, err := domain.MoveRun(domain.RunCanceled, domain.RunRunning)
	if err == nil || err.Error() != "a run cannot go from CANCELED to RUNNING" {
		t.Errorf("got %v", err)
	}
	_, err = domain.MoveJob(domain.JobSucceeded, domain.JobReady)
	if err == nil || err.Error() != "a job cannot go from SUCCEEDED to READY" {
		t.Errorf("got %v", err)
	}
}

func TestEndedAndActive(t *testing.T) {
	for s := domain.JobReady; s <= domain.JobCanceled; s++ {
		want := s == domain.JobSucceeded || s == domain.JobFailed || s == domain.JobCanceled
		if s.Ended() != want {
			t.Errorf("%s.Ended() is %v", s, s.Ended())
		}
	}
	for s := domain.RunStatus(0); s <= domain.RunCanceled; s++ {
		want := s == domain.RunCreated || s == domain.RunPlanning || s == domain.RunRunning || s == domain.RunFinalizing
		if s.Active() != want {
			t.Errorf("%s.Active() is %v", s, s.Active())
		}
	}
}
