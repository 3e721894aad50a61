package domain

import (
	"slices"
	"strings"
	"time"
)

// Harvest says when an account is collected next.
type Harvest struct {
	AccountID int64 `json:"account_id"`
	// After is the run it follows; 0 if there was none.
	After    int64     `json:"after,omitempty"`
	At       time.Time `json:"at"`
	Priority Priority  `json:"priority"`
	// Resume is the run that goes on then, from its failed jobs; 0 begins a
	// new one.
	Resume int64 `json:"resume,omitempty"`
	// Tries counts how often Resume was resumed already.
	Tries int `json:"tries,omitempty"`
	// Reason says why it is then, for people.
	Reason string `json:"reason,omitempty"`
}

// GoesOn picks, of the jobs of a run that has ended, those with which it can go
// on: the failed ones of the given kinds and, if the run FAILED, those that
// were canceled in the same instant. A resource that the upstream dropped
// before is not asked for again. An error of code CodeConflict says that there
// is nothing to go on with.
func (r Run) GoesOn(jobs []Job, kinds []FailureKind) ([]Job, error) {
	if r.Status != RunFailed && r.Status != RunCompleted {
		return nil, Errorf(CodeConflict, "run %d is %s; only a FAILED or COMPLETED run can be resumed", r.ID, r.Status)
	}
	var back []Job
	for _, j := range jobs {
		failed := j.Status == JobFailed && slices.Contains(kinds, j.ErrorKind)
		canceled := j.Status == JobCanceled && r.Status == RunFailed && j.FinishedAt.Equal(r.FinishedAt)
		if failed || canceled {
			back = append(back, j)
		}
	}
	if len(back) == 0 {
		return nil, Errorf(CodeConflict, "run %d is %s and has no job that another attempt could help", r.ID, r.Status)
	}
	return back, nil
}

// NoStatistics begins the reason of a run that FAILED when everything was
// collected, because its statistics could not be computed.
const NoStatistics = "statistics could not be computed: "

// LacksStatistics reports whether only its statistics keep the run from being
// COMPLETED: it can go on without any job.
func (r Run) LacksStatistics() bool {
	return r.Status == RunFailed && strings.HasPrefix(r.Reason, NoStatistics)
}

// Reopen counts jobs of a run that had ended as unfinished again.
func (c *RunCounts) Reopen(jobs []Job) {
	for _, j := range jobs {
		switch j.Status {
		case JobFailed:
			c.Failed--
		case JobCanceled:
			c.Canceled--
		}
		c.Pending++
		c.Known += int64(j.Calls()) - 1
	}
}
