package domain

import "time"

// JobStatus is the state of a job.
type JobStatus uint8

// The states of a job. READY with a NotBefore in the future is a retry or a
// wait; PAUSED waits for a person.
const (
	JobReady JobStatus = iota + 1
	_                  // 2 was a state that no job was ever in; the others keep their numbers
	JobRunning
	JobPaused
	JobSucceeded
	JobFailed
	JobCanceled
)

var jobStatusNames = [...]string{
	JobReady: "READY", JobRunning: "RUNNING",
	JobPaused: "PAUSED", JobSucceeded: "SUCCEEDED", JobFailed: "FAILED",
	JobCanceled: "CANCELED",
}

// String returns the name that people and APIs see.
func (s JobStatus) String() string { return enumName(jobStatusNames[:], uint8(s), "job status") }

// MarshalText implements encoding.TextMarshaler.
func (s JobStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *JobStatus) UnmarshalText(b []byte) error {
	n, err := enumParse(jobStatusNames[:], string(b), "job status")
	*s = JobStatus(n)
	return err
}

// Ended reports whether the job needs no more work unless a person retries it.
func (s JobStatus) Ended() bool { return s >= JobSucceeded }

var jobMoves = map[JobStatus][]JobStatus{
	JobReady:   {JobRunning, JobPaused, JobCanceled},
	JobRunning: {JobReady, JobSucceeded, JobFailed, JobPaused, JobCanceled},
	JobPaused:  {JobReady, JobCanceled},
	// A failed job comes back when a person retries it or its run is resumed, and
	// what was canceled with a failed run comes back with that. Under a paused
	// account they wait until it is resumed.
	JobFailed:   {JobReady, JobPaused},
	JobCanceled: {JobReady, JobPaused},
}

// MoveJob is the only way a job changes state. It returns the new state, or
// an error of code CodeIllegalMove that leaves the job as it was.
func MoveJob(from, to JobStatus) (JobStatus, error) {
	for _, next := range jobMoves[from] {
		if next == to {
			return to, nil
		}
	}
	return from, Errorf(CodeIllegalMove, "a job cannot go from %s to %s", from, to)
}

// JobsThatMayBecome lists the states from which a job may go to another: what a
// statement about many jobs goes by.
func JobsThatMayBecome(to JobStatus) []JobStatus {
	var from []JobStatus
	for s := JobReady; s <= JobCanceled; s++ {
		if _, err := MoveJob(s, to); err == nil {
			from = append(from, s)
		}
	}
	return from
}

// Class says where in a collection a job stands. Children go before new
// discovery, so that what was begun is finished first.
type Class uint8

// The classes of jobs.
const (
	// ClassDiscovery begins something new.
	ClassDiscovery Class = iota + 1
	// ClassChild brings in what was found.
	ClassChild
	// ClassWalk goes on with a discovery that was begun. It waits among the
	// children, as another bucket's work may hang on what it finds.
	ClassWalk
)

// LocalBucket is the bucket of jobs that make no upstream call. They draw on no
// ration, and are carried out also when none is left.
const LocalBucket = "local"

// JobSpec describes a job that is to exist: what a source plans.
type JobSpec struct {
	Type string
	// Resource is what the job is applied to, such as "repo:42"; with Type it
	// names one ledger of pages.
	Resource string
	// PageKey tells the pages of a resource apart; empty for the first.
	// (run, type, resource, page key) is unique.
	PageKey string
	Bucket  string
	Class   Class
	// Params is what the source needs to make the call, opaque to the engine.
	Params []byte
	// Expected is how many calls this job and its successors will take, as far
	// as that is known; 0 means 1. What all unfinished jobs expect is what is
	// left of a run.
	Expected int
	// Priority, if set, replaces the run's.
	Priority Priority
}

// Calls is Expected, at least 1.
func (s JobSpec) Calls() int { return max(s.Expected, 1) }

// Job is exactly one upstream call.
type Job struct {
	ID        int64
	RunID     int64
	AccountID int64
	ParentID  int64
	JobSpec
	Status JobStatus
	// Attempt is the fencing token: it grows with every claim, and a write
	// that carries an older one changes nothing.
	Attempt int64
	// Failures counts attempts that count against the retry budget; waiting
	// for quota does not.
	Failures int
	// Lost counts workers that vanished while they had the job.
	Lost      int
	NotBefore time.Time
	Error     string
	ErrorKind FailureKind
	// Items is how many documents the page held; Pages is how many pages the
	// upstream announced for the resource, 0 when it did not say.
	Items, Pages int
	CreatedAt    time.Time
	// StartedAt is when its last attempt was begun.
	StartedAt  time.Time
	FinishedAt time.Time
}

// JobRef is the little that dispatch needs to know about a waiting job.
type JobRef struct {
	ID        int64
	RunID     int64
	AccountID int64
	Bucket    string
	Class     Class
	Priority  Priority
	NotBefore time.Time
}
