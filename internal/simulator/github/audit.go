package github

import (
	"strconv"
	"sync"
	"time"
)

// The kinds of secondary violations.
const (
	violationConcurrency = "concurrency"
	violationPoints      = "points_per_minute"
)

// Audit is how the callers behaved since the start or the last reset.
type Audit struct {
	Calls      int            `json:"calls"`
	ByBucket   map[string]int `json:"by_bucket"`
	ByEndpoint map[string]int `json:"by_endpoint"`
	ByStatus   map[string]int `json:"by_status"`

	// Violations is the sum of everything a well-behaved caller never does:
	// calls beyond quota, secondary limits, foreign tokens.
	Violations           int            `json:"violations"`
	BeyondQuota          int            `json:"calls_beyond_quota"`
	Secondary            map[string]int `json:"secondary_violations"`
	ForeignAuthorization int            `json:"foreign_authorization"`

	LargestSecond           int `json:"largest_second"`
	LargestConcurrency      int `json:"largest_concurrency"`
	LargestOwnerConcurrency int `json:"largest_owner_concurrency"`

	NotModified int `json:"not_modified"`
	// Repeated counts GETs that were paid for and brought an answer the same
	// owner had already been given; RepeatedQueries is the same for GraphQL.
	Repeated        int `json:"repeated"`
	RepeatedQueries int `json:"repeated_queries"`
	Faults          int `json:"faults"`
	// Injected counts what went wrong on purpose, and the changes of the world
	// that nasty mode made, by kind.
	Injected      map[string]int `json:"injected"`
	Mutations     int            `json:"mutations"`
	GraphQLPoints int            `json:"graphql_points"`
	// TokensMinted counts the tokens issued to app installations.
	TokensMinted int `json:"tokens_minted"`

	Windows []WindowUsage `json:"windows"`
}

// WindowUsage is how much of one primary window was spent.
type WindowUsage struct {
	Owner  string    `json:"owner"`
	Bucket string    `json:"bucket"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Limit  int       `json:"limit"`
	Used   int       `json:"used"`
}

// auditor collects the audit. It never takes an owner's lock, so it may be
// called under one.
type auditor struct {
	mu       sync.Mutex
	seen     Audit
	statuses map[int]int
	ended    []WindowUsage
	inFlight int
	second   slidingSecond
	answers  map[uint64]uint64 // fingerprint of a request → of its last answer
}

func newAuditor() *auditor {
	a := &auditor{}
	a.clear()
	return a
}

func (a *auditor) clear() {
	a.seen = Audit{ByBucket: map[string]int{}, ByEndpoint: map[string]int{}, Secondary: map[string]int{}, Injected: map[string]int{}}
	a.statuses = map[int]int{}
	a.ended = nil
	a.second = slidingSecond{}
	a.answers = map[uint64]uint64{}
}

func (a *auditor) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clear()
}

func (a *auditor) arrived(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen.Calls++
	a.inFlight++
	a.seen.LargestConcurrency = max(a.seen.LargestConcurrency, a.inFlight)
	a.seen.LargestSecond = max(a.seen.LargestSecond, a.second.add(now.UnixNano()))
}

func (a *auditor) admitted(ownerInFlight int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen.LargestOwnerConcurrency = max(a.seen.LargestOwnerConcurrency, ownerInFlight)
}

// answered is recorded before the answer is written, so that a caller who has
// its answer finds it in the audit.
func (a *auditor) answered(b bucket, endpoint string, status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inFlight--
	a.seen.ByBucket[b.String()]++
	a.seen.ByEndpoint[endpoint]++
	a.statuses[status]++
	if status == 304 {
		a.seen.NotModified++
	}
}

func (a *auditor) note(record func(*Audit)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	record(&a.seen)
}

func (a *auditor) beyondQuota() { a.note(func(s *Audit) { s.BeyondQuota++ }) }

func (a *auditor) secondary(kind string) { a.note(func(s *Audit) { s.Secondary[kind]++ }) }

func (a *auditor) injected(kind string) { a.note(func(s *Audit) { s.Injected[kind]++ }) }

// delivered notes which answer a request got and whether it got the same before.
func (a *auditor) delivered(request, answer uint64, graphQL bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if before, ok := a.answers[request]; ok && before == answer {
		if graphQL {
			a.seen.RepeatedQueries++
		} else {
			a.seen.Repeated++
		}
	}
	a.answers[request] = answer
}

func (a *auditor) windowEnded(owner string, b bucket, w window) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = append(a.ended, w.usage(owner, b))
}

func (w *window) usage(owner string, b bucket) WindowUsage {
	return WindowUsage{Owner: owner, Bucket: b.String(), Start: w.start, End: w.end, Limit: w.limit, Used: w.used}
}

// report copies the audit; running are the windows that have not ended yet.
func (a *auditor) report(running []WindowUsage) Audit {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.seen
	out.ByBucket = copyCounts(a.seen.ByBucket)
	out.ByEndpoint = copyCounts(a.seen.ByEndpoint)
	out.Secondary = copyCounts(a.seen.Secondary)
	out.Injected = copyCounts(a.seen.Injected)
	out.ByStatus = make(map[string]int, len(a.statuses))
	for status, n := range a.statuses {
		out.ByStatus[strconv.Itoa(status)] = n
	}
	out.Violations = out.BeyondQuota + out.ForeignAuthorization
	for _, n := range out.Secondary {
		out.Violations += n
	}
	out.Windows = append(append([]WindowUsage{}, a.ended...), running...)
	return out
}

func copyCounts(in map[string]int) map[string]int {
	out := make(map[string]int, len(in))
	for k, n := range in {
		out[k] = n
	}
	return out
}

// slidingSecond counts the calls of the last second.
type slidingSecond struct {
	times []int64
	first int
}

func (s *slidingSecond) add(now int64) int {
	s.times = append(s.times, now)
	for s.times[s.first] <= now-int64(time.Second) {
		s.first++
	}
	if s.first > 1024 && s.first > len(s.times)/2 {
		s.times = append(s.times[:0], s.times[s.first:]...)
		s.first = 0
	}
	return len(s.times) - s.first
}

// Audit reports how the callers behaved.
func (s *Server) Audit() Audit {
	var running []WindowUsage
	s.limits.owners.Range(func(_, value any) bool {
		o := value.(*owner)
		o.mu.Lock()
		defer o.mu.Unlock()
		for b := range buckets {
			if w := &o.windows[b]; w.used > 0 {
				running = append(running, w.usage(o.label, b))
			}
		}
		return true
	})
	return s.audit.report(running)
}

// ResetAudit forgets what was recorded; windows that run go on running.
func (s *Server) ResetAudit() { s.audit.reset() }
