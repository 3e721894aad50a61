package maplestory

import (
	"sync"
	"time"
)

// Audit is how the callers behaved since the start or the last reset.
type Audit struct {
	Calls int64 `json:"calls"`
	// ByKey counts by API key, "unknown" for those that are not accepted.
	ByKey map[string]int64 `json:"by_key"`
	// ByCode counts by the API's error, "OK" for none, "FAULT" for answers
	// that were scripted and "GONE" for callers that did not wait for theirs.
	ByCode map[string]int64 `json:"by_code"`
	ByPart map[string]int64 `json:"by_part"`

	// Violations is the sum of everything a well-behaved caller never does.
	Violations   int64 `json:"violations"`
	BeyondSecond int64 `json:"calls_beyond_second"`
	BeyondDay    int64 `json:"calls_beyond_day"`
	UnknownKey   int64 `json:"calls_with_unknown_key"`

	// LargestSecond is the largest number of calls in any sliding second,
	// refused ones included; by key, since each has limits of its own.
	LargestSecond      int            `json:"largest_second"`
	LargestSecondByKey map[string]int `json:"largest_second_by_key"`
	LargestConcurrency int            `json:"largest_concurrency"`

	// Duplicates counts the answers that told a value that had been told before
	// with no other in between; MostForOneValue is how often one value was told.
	Duplicates      int64 `json:"duplicates"`
	MostForOneValue int64 `json:"most_for_one_value"`
	Bytes           int64 `json:"bytes"`

	// Injected counts what went wrong on purpose, by kind.
	Injected map[string]int64 `json:"injected"`
}

type told struct {
	change uint64
	times  int64
}

type auditor struct {
	mu       sync.Mutex
	seen     Audit
	inFlight int
	overall  slidingSecond
	byKey    map[string]*slidingSecond
	values   map[uint64]told
	accounts map[string]*account
}

func newAuditor() *auditor {
	a := &auditor{accounts: map[string]*account{}}
	a.clear()
	return a
}

func (a *auditor) clear() {
	a.seen = Audit{
		ByKey: map[string]int64{}, ByCode: map[string]int64{}, ByPart: map[string]int64{},
		LargestSecondByKey: map[string]int{}, Injected: map[string]int64{},
	}
	a.overall = slidingSecond{}
	a.byKey = map[string]*slidingSecond{}
	a.values = map[uint64]told{}
}

const unknownKey = "unknown"

// arrived counts a call and decides on it, at the instant at which it holds the
// lock: so the instants are in order, and every sliding second is exact.
func (a *auditor) arrived(key string, l Limits, clock func() time.Time) (verdict, time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := clock()
	a.seen.Calls++
	a.seen.ByKey[key]++
	a.inFlight++
	a.seen.LargestConcurrency = max(a.seen.LargestConcurrency, a.inFlight)
	a.seen.LargestSecond = max(a.seen.LargestSecond, a.overall.add(now.UnixNano()))
	second := a.byKey[key]
	if second == nil {
		second = &slidingSecond{}
		a.byKey[key] = second
	}
	a.seen.LargestSecondByKey[key] = max(a.seen.LargestSecondByKey[key], second.add(now.UnixNano()))
	if key == unknownKey {
		a.seen.UnknownKey++
		return admitted, now
	}
	used := a.accounts[key]
	if used == nil {
		used = &account{}
		a.accounts[key] = used
	}
	return used.admit(l, now), now
}

// answered is recorded before the answer is written, so that a caller who has
// its answer finds it in the audit.
func (a *auditor) answered(c *call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inFlight--
	switch {
	case c.gone:
		a.seen.ByCode["GONE"]++
	case c.faulty:
		a.seen.ByCode["FAULT"]++
	case c.code == OK:
		a.seen.ByCode["OK"]++
	default:
		a.seen.ByCode[c.code.Name()]++
	}
	switch c.limited {
	case beyondSecond:
		a.seen.BeyondSecond++
	case beyondDay:
		a.seen.BeyondDay++
	case admitted:
	}
	if c.tells {
		a.seen.ByPart[partNames[c.part]]++
	}
	if c.gone {
		return
	}
	a.seen.Bytes += int64(len(c.out))
	if c.tells && !c.faulty {
		a.tell(c)
	}
}

func (a *auditor) injected(kind string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen.Injected[kind]++
}

// tell notes that a caller was told a value.
func (a *auditor) tell(c *call) {
	id := entity(c.part, c.character)
	v := a.values[id]
	if v.change != c.change {
		v = told{change: c.change}
	}
	if v.times++; v.times > 1 {
		a.seen.Duplicates++
	}
	a.values[id] = v
	a.seen.MostForOneValue = max(a.seen.MostForOneValue, v.times)
}

func (a *auditor) report() Audit {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.seen
	out.ByKey, out.ByCode, out.ByPart = copyCounts(out.ByKey), copyCounts(out.ByCode), copyCounts(out.ByPart)
	out.LargestSecondByKey, out.Injected = copyCounts(out.LargestSecondByKey), copyCounts(out.Injected)
	out.Violations = out.BeyondSecond + out.BeyondDay + out.UnknownKey
	return out
}

func copyCounts[N int | int64](in map[string]N) map[string]N {
	out := make(map[string]N, len(in))
	for k, n := range in {
		out[k] = n
	}
	return out
}

// Audit reports how the callers behaved.
func (s *Server) Audit() Audit { return s.audit.report() }

// ResetAudit forgets what was recorded; the limits go on counting.
func (s *Server) ResetAudit() {
	s.audit.mu.Lock()
	defer s.audit.mu.Unlock()
	s.audit.clear()
}
