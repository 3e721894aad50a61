package dispatch

import (
	"strconv"
	"strings"
)

// jobPrefix begins the ids of jobs.
const jobPrefix = "job:"

// JobID is the id of a job's entry: job:12.
func JobID(number int64) string {
	// Most fit, and then the id alone is allocated.
	var space [24]byte
	return string(strconv.AppendInt(append(space[:0], jobPrefix...), number, 10))
}

// JobIDs are the ids of several jobs.
func JobIDs(numbers []int64) []string {
	ids := make([]string, len(numbers))
	for i, number := range numbers {
		ids[i] = JobID(number)
	}
	return ids
}

// JobNumber is the inverse of JobID; ok is false for what is no job. Earlier
// versions left the number alone in dispatchers that outlast a process: that is
// a job too.
func JobNumber(id string) (number int64, ok bool) {
	number, err := strconv.ParseInt(strings.TrimPrefix(id, jobPrefix), 10, 64)
	return number, err == nil && number >= 0
}

// Lane names where the jobs of one quota owner and bucket wait.
func Lane(owner, bucket string) string { return owner + "/" + bucket }
