package declared

import (
	"math"
	"net/http"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"
)

// counts keep count of every ration as the upstream does: whatever the collector
// believes, a call beyond one of them is noted.
type counts struct {
	mu    sync.Mutex
	spec  *Spec
	now   func() time.Time
	by    map[string]*count
	audit Audit
}

// count is one ration's, of one credential and stream.
type count struct {
	// started is when the window began, calls the instants of those that count.
	started time.Time
	calls   []time.Time
	// level is what is in a bucket, as of filled.
	level  float64
	filled time.Time
	active int
}

// Audit is what the collector did.
type Audit struct {
	Calls int `json:"calls"`
	// Beyond counts the calls beyond each ration; Fullest is the most that any window
	// of it held.
	Beyond  map[string]int `json:"beyond"`
	Fullest map[string]int `json:"fullest"`
	// Concurrency is the most calls that were under way.
	Concurrency int `json:"concurrency"`
	// Unknown are addresses that there are not, Anonymous calls without a credential,
	// Unchanged those that were answered 304, Faults those that a fault hit.
	Unknown   []string `json:"unknown,omitempty"`
	Anonymous int      `json:"anonymous"`
	// Logins are the calls for tokens, Expired those with a token that had ended.
	Logins    int            `json:"logins"`
	Expired   int            `json:"expired"`
	Unchanged int            `json:"unchanged"`
	Faults    int            `json:"faults"`
	ByStream  map[string]int `json:"by_stream"`
	active    int
}

func newCounts(spec *Spec, now func() time.Time) *counts {
	return &counts{spec: spec, now: now, by: map[string]*count{}, audit: Audit{Beyond: map[string]int{}, Fullest: map[string]int{}, ByStream: map[string]int{}}}
}

// matches says whether a path has one of some forms.
func matches(patterns []string, of string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, of); return ok })
}

// begin counts a call by every ration that it draws on. It returns how long to stay
// away if any has no room, and what to do when the call ends.
func (c *counts) begin(key, stream, at string, login bool, header http.Header) (wait time.Duration, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	c.audit.Calls++
	c.audit.ByStream[stream]++
	c.audit.active++
	c.audit.Concurrency = max(c.audit.Concurrency, c.audit.active)
	var held []*count
	for i := range c.spec.Rations {
		r := &c.spec.Rations[i]
		// A call for a token draws only on what names it.
		if !matches(r.Match, at) || login && len(r.Match) == 0 {
			continue
		}
		n := c.of(r, key, stream)
		late := c.take(r, n, now)
		if late > 0 {
			c.audit.Beyond[r.Name]++
			wait = max(wait, late)
		}
		c.tell(r, n, now, header)
		if r.Shape == "concurrent" {
			n.active++
			c.audit.Fullest[r.Name] = max(c.audit.Fullest[r.Name], n.active)
			held = append(held, n)
		}
	}
	return wait, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.audit.active--
		for _, n := range held {
			n.active--
		}
	}
}

func (c *counts) of(r *Ration, key, stream string) *count {
	id := r.Name
	if r.PerKey {
		id += "\x00" + key
	}
	if r.PerStream {
		id += "\x00\x00" + stream
	}
	n := c.by[id]
	if n == nil {
		n = &count{level: float64(r.Calls), filled: c.now()}
		c.by[id] = n
	}
	return n
}

// take counts a call, and says how long it came too early; a call that did is not
// counted.
func (c *counts) take(r *Ration, n *count, now time.Time) time.Duration {
	switch r.Shape {
	case "concurrent":
		if n.active >= r.Calls {
			return time.Second
		}
		return 0
	case "bucket":
		back := r.Refill
		if back == 0 {
			back = r.Calls
		}
		rate := float64(back) / r.Every.Seconds()
		n.level = math.Min(float64(r.Calls), n.level+now.Sub(n.filled).Seconds()*rate)
		n.filled = now
		// Clocks are not exact to the nanosecond.
		if n.level < 1-1e-6 {
			return time.Duration((1 - n.level) / rate * float64(time.Second))
		}
		n.level--
		return 0
	case "sliding":
		n.calls = slices.DeleteFunc(n.calls, func(t time.Time) bool { return !t.After(now.Add(-r.Every)) })
		if len(n.calls) >= r.Calls {
			return n.calls[0].Add(r.Every).Sub(now)
		}
	default:
		if n.started.IsZero() || !now.Before(n.started.Add(r.Every)) {
			n.started, n.calls = now, nil
		}
		if len(n.calls) >= r.Calls {
			return n.started.Add(r.Every).Sub(now)
		}
	}
	n.calls = append(n.calls, now)
	c.audit.Fullest[r.Name] = max(c.audit.Fullest[r.Name], len(n.calls))
	return 0
}

// tell writes into the headers of an answer what is left.
func (c *counts) tell(r *Ration, n *count, now time.Time, h http.Header) {
	left := r.Calls - len(n.calls)
	if r.Shape == "bucket" {
		left = int(n.level)
	}
	put := func(p Place, v string) {
		if p.Header != "" {
			h.Set(p.Header, v)
		}
	}
	put(r.Limit, strconv.Itoa(r.Calls))
	put(r.Remaining, strconv.Itoa(left))
	put(r.Used, strconv.Itoa(r.Calls-left)+"/"+strconv.Itoa(r.Calls))
	reset := n.started.Add(r.Every)
	if r.Shape == "sliding" && len(n.calls) > 0 {
		reset = n.calls[0].Add(r.Every)
	}
	// A window that ends within a second is told to end with it.
	switch in := reset.Sub(now); r.ResetAs {
	case "epoch":
		put(r.Reset, strconv.FormatInt(reset.Add(time.Second-1).Unix(), 10))
	case "epoch_ms":
		put(r.Reset, strconv.FormatInt(reset.UnixMilli()+1, 10))
	case "delta":
		put(r.Reset, strconv.FormatInt(int64(math.Ceil(in.Seconds())), 10))
	case "delta_ms":
		put(r.Reset, strconv.FormatInt(in.Milliseconds()+1, 10))
	case "iso":
		put(r.Reset, reset.Add(time.Second-1).UTC().Format(time.RFC3339))
	case "http-date":
		put(r.Reset, reset.Add(time.Second-1).UTC().Format(http.TimeFormat))
	}
}
