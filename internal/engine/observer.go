package engine

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// Observer is told what workers did, to measure it. It must not block.
type Observer interface {
	Turned(t Turn)
}

// Turn is one job in the hands of one worker, from its call to what became of it.
type Turn struct {
	Source string
	// Job is as it was when it was claimed.
	Job      domain.Job
	Priority domain.Priority
	Verdict  source.Verdict
	To       domain.JobStatus
	// Began is when the call was, Answered when its answer was there, Ended when
	// the outcome was stored, or the store had refused it.
	Began, Answered, Ended time.Time
}

// StatisticsRetrying is how many runs' statistics have failed in this process and
// wait to be computed again.
func (e *Engine) StatisticsRetrying() int { return e.chores.statistics.retrying() }

func (f *statisticsTries) retrying() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.tries)
}
