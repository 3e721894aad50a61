package metrics

import (
	"regexp"
	"sync"
	"time"
)

const (
	// other stands for what has no name of its own in a label.
	other = "other"
	// mostReasons is how many reasons are told apart.
	mostReasons = 40
)

// boundedNames keeps a label from growing without end: the first names that come
// are kept, and what looks like no name, or comes later, is other. What upstreams
// answer is not ours to choose.
type boundedNames struct {
	most int

	mu    sync.RWMutex
	known map[string]struct{}
}

func newBoundedNames(most int) *boundedNames {
	return &boundedNames{most: most, known: map[string]struct{}{}}
}

var isName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,39}$`)

func (b *boundedNames) name(text string) string {
	b.mu.RLock()
	_, known := b.known[text]
	b.mu.RUnlock()
	if known {
		return text
	}
	if !isName.MatchString(text) {
		return other
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known = b.known[text]; !known && len(b.known) >= b.most {
		return other
	}
	b.known[text] = struct{}{}
	return text
}

// lastSeconds is how many seconds are looked back on.
const lastSeconds = 60

// fullestSeconds counts calls by the second they were granted in.
type fullestSeconds struct {
	mu sync.Mutex
	by map[string]*[lastSeconds]secondCount
}

type secondCount struct {
	second int64
	calls  int
}

func newFullestSeconds() *fullestSeconds {
	return &fullestSeconds{by: map[string]*[lastSeconds]secondCount{}}
}

func (f *fullestSeconds) add(name string, now time.Time, calls int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ring := f.by[name]
	if ring == nil {
		ring = &[lastSeconds]secondCount{}
		f.by[name] = ring
	}
	second := now.Unix()
	place := &ring[((second%lastSeconds)+lastSeconds)%lastSeconds]
	if place.second != second {
		*place = secondCount{second: second}
	}
	place.calls += calls
}

// fullest returns the calls of the fullest of the last seconds, by name.
func (f *fullestSeconds) fullest(now time.Time) map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make(map[string]int, len(f.by))
	for name, ring := range f.by {
		most := 0
		for _, place := range ring {
			if age := now.Unix() - place.second; age >= 0 && age < lastSeconds {
				most = max(most, place.calls)
			}
		}
		out[name] = most
	}
	return out
}
