package maplestory

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Nasty lets anything go wrong at random. What happens is a function of the seed
// and of the order of the requests alone.
type Nasty struct {
	Seed uint64 `json:"seed"`
	// Rate is the share of calls that something befalls, from 0 to 1.
	Rate float64 `json:"rate"`
	// Only restricts what is drawn to these kinds, and Except leaves kinds out.
	Only   []string `json:"only,omitempty"`
	Except []string `json:"except,omitempty"`
	// Slow bounds how late or slow an answer is; default 1 s.
	Slow Duration `json:"slow,omitempty"`
	// Huge bounds how many blanks a huge answer begins with; default 8 MiB.
	Huge int `json:"huge,omitempty"`
	// Preparing bounds how long a key is being prepared; default 10 min. What is
	// still being prepared is ready when the rate becomes zero.
	Preparing Duration `json:"preparing,omitempty"`
}

// Duration is a time.Duration that JSON shows as in "1.5s".
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

func (n Nasty) withDefaults() Nasty {
	if n.Slow == 0 {
		n.Slow = Duration(time.Second)
	}
	if n.Preparing == 0 {
		n.Preparing = Duration(10 * time.Minute)
	}
	setDefault(&n.Huge, 8<<20)
	return n
}

// check names kinds that do not exist, which would otherwise never happen.
func (n Nasty) check() error {
	for _, kind := range append(slices.Clone(n.Only), n.Except...) {
		if !slices.Contains(Kinds(), kind) {
			return fmt.Errorf("%q is not a kind of fault; there are %s", kind, strings.Join(Kinds(), ", "))
		}
	}
	if n.Rate < 0 || n.Rate > 1 {
		return fmt.Errorf("a rate lies between 0 and 1, not at %g", n.Rate)
	}
	return nil
}

func (n Nasty) kinds() []string {
	return slices.DeleteFunc(Kinds(), func(kind string) bool {
		return len(n.Only) > 0 && !slices.Contains(n.Only, kind) || slices.Contains(n.Except, kind)
	})
}

// nastiness is nasty mode as it runs.
type nastiness struct {
	mu   sync.Mutex
	mode Nasty
	seen uint64 // calls since the seed was set
}

// SetNasty begins, changes or (with a rate of zero) ends nasty mode.
func (s *Server) SetNasty(mode Nasty) error {
	if err := mode.check(); err != nil {
		return err
	}
	s.nasty.mu.Lock()
	if mode.Seed != s.nasty.mode.Seed {
		s.nasty.seen = 0
	}
	s.nasty.mode = mode.withDefaults()
	s.nasty.mu.Unlock()
	if mode.Rate == 0 {
		s.EndPreparing()
	}
	return nil
}

// Nasty is the mode as it stands.
func (s *Server) Nasty() Nasty {
	s.nasty.mu.Lock()
	defer s.nasty.mu.Unlock()
	return s.nasty.mode
}

// draws hands out independent numbers derived from one key.
type draws struct{ state uint64 }

func (d *draws) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	return mix(d.state)
}

func (d *draws) below(n int) int { return int(d.next() >> 1 % uint64(max(n, 1))) }

// befall draws what happens to a call; nil lets it pass.
func (n *nastiness) befall(c *call) *Fault {
	n.mu.Lock()
	mode := n.mode
	if mode.Rate > 0 {
		n.seen++
	}
	d := &draws{derive(mode.Seed, forNastiness, n.seen)}
	n.mu.Unlock()
	if mode.Rate == 0 || float64(d.next()>>11)/(1<<53) >= mode.Rate {
		return nil
	}
	kinds := mode.kinds()
	if len(kinds) == 0 {
		return nil
	}
	kind := kinds[d.below(len(kinds))]
	switch kind {
	case FaultPreparing, ChangeRenewed, ChangeValue:
		c.upset(mode, d, kind)
		return nil
	}
	f := drawFault(mode, d, kind)
	return &f
}

func drawFault(mode Nasty, d *draws, kind string) Fault {
	slow := time.Duration(d.below(int(mode.Slow)))
	switch kind {
	case FaultGameMaintenance:
		return Failure(GameMaintenance)
	case FaultAPIMaintenance:
		return Failure(APIMaintenance)
	case FaultQuota:
		return Failure(QuotaExceeded)
	case FaultInternal:
		return Failure(Internal)
	case FaultHTMLPage:
		return HTMLErrorPage([]int{502, 503, 504}[d.below(3)])
	case FaultMalformed:
		return MalformedJSON()
	case FaultTruncated:
		return TruncatedBody()
	case FaultReset:
		return ConnectionReset()
	case FaultCut:
		return ConnectionCut()
	case FaultDelayed:
		return Delayed(slow)
	case FaultSlow:
		return SlowBody(slow)
	default:
		return HugeBody(1 + d.below(mode.Huge))
	}
}

// upset changes the character that the call is about before it is answered.
func (c *call) upset(mode Nasty, d *draws, kind string) {
	s := c.server
	part, ocid := c.asked()
	character, ok := s.world.character(ocid, c.now)
	if !ok {
		return
	}
	switch kind {
	case FaultPreparing:
		s.preparing.begin(entity(part, character), c.now.Add(time.Duration(1+d.below(int(mode.Preparing)))))
		return // each answer that says so is counted
	case ChangeRenewed:
		s.world.renewals.add(uint64(character), c.now)
	case ChangeValue:
		s.world.changes.add(entity(part, character), c.now)
	}
	s.audit.injected(kind)
}

// asked is which part of which character a path names, if it names one.
func (c *call) asked() (part, string) {
	p, _ := partNamed(strings.TrimPrefix(c.req.URL.Path, prefix+"character/"))
	return p, c.req.URL.Query().Get("ocid")
}
