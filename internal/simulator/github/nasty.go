package github

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Nasty lets anything go wrong at random, and the world change under the
// callers' feet. What happens is a function of the seed and of the order of the
// requests alone.
type Nasty struct {
	Seed uint64 `json:"seed"`
	// Rate is the share of requests that a fault befalls, from 0 to 1.
	Rate float64 `json:"rate"`
	// Changes is the share of requests before which the world changes.
	Changes float64 `json:"changes"`
	// Only restricts what is drawn to these kinds of faults and changes, and
	// Except leaves kinds out. A proof in real time leaves out what no caller
	// can wait for, such as AbsurdWait.
	Only   []string `json:"only,omitempty"`
	Except []string `json:"except,omitempty"`
	// Slow bounds how late or slow an answer is; default 1 s.
	Slow Duration `json:"slow,omitempty"`
	// Huge bounds how many blanks a huge answer begins with; default 8 MiB.
	Huge int `json:"huge,omitempty"`
	// Elsewhere is where redirects lead; default a host that does not exist.
	Elsewhere string `json:"elsewhere,omitempty"`
	// KeepHeavy leaves connections heavy when both rates become zero.
	KeepHeavy bool `json:"keep_heavy,omitempty"`
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
	setDefault(&n.Huge, 8<<20)
	if n.Elsewhere == "" {
		n.Elsewhere = "https://elsewhere.invalid"
	}
	return n
}

// check names kinds that do not exist, which would otherwise never happen.
func (n Nasty) check() error {
	known := append(FaultKinds(), ChangeKinds()...)
	for _, kind := range append(slices.Clone(n.Only), n.Except...) {
		if !slices.Contains(known, kind) {
			return fmt.Errorf("%q is not a kind of fault or change; there are %s", kind, strings.Join(known, ", "))
		}
	}
	if n.Rate < 0 || n.Rate > 1 || n.Changes < 0 || n.Changes > 1 {
		return fmt.Errorf("rates lie between 0 and 1, not %g and %g", n.Rate, n.Changes)
	}
	return nil
}

func (n Nasty) draws(kind string) bool {
	return (len(n.Only) == 0 || slices.Contains(n.Only, kind)) && !slices.Contains(n.Except, kind)
}

func (n Nasty) among(kinds []string) []string {
	var out []string
	for _, kind := range kinds {
		if n.draws(kind) {
			out = append(out, kind)
		}
	}
	return out
}

// nastiness is nasty mode as it runs.
type nastiness struct {
	mu   sync.Mutex
	mode Nasty
	seen uint64 // requests since the mode was set
}

// SetNasty begins, changes or (with rates of zero) ends nasty mode. When it ends
// connections are no longer heavy, unless KeepHeavy says so; the world stays as
// it has become.
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
	if mode.Rate == 0 && mode.Changes == 0 && !mode.KeepHeavy {
		s.ClearHeavy()
	}
	return nil
}

// Nasty is the mode as it stands.
func (s *Server) Nasty() Nasty {
	s.nasty.mu.Lock()
	defer s.nasty.mu.Unlock()
	return s.nasty.mode
}

// next gives a request its draws; ok is false while nothing goes wrong.
func (n *nastiness) next() (mode Nasty, d draws, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mode.Rate == 0 && n.mode.Changes == 0 {
		return n.mode, d, false
	}
	n.seen++
	return n.mode, draws{derive(n.mode.Seed, kindNasty, n.seen)}, true
}

// chance is true with a probability.
func (d *draws) chance(p float64) bool { return float64(d.next()>>11)/(1<<53) < p }

// befall changes the world and draws a fault for a call; nil lets it pass.
func (n *nastiness) befall(c *call) *Fault {
	mode, d, ok := n.next()
	if !ok || c.route.endpoint == endpointAccessTokens {
		return nil
	}
	changes, fault := d.chance(mode.Changes), d.chance(mode.Rate)
	if changes {
		c.upheave(mode, &d)
	}
	if !fault {
		return nil
	}
	kinds := slices.Clone(wireFaults)
	switch {
	case c.route.endpoint == endpointGraphQL:
		kinds = append(kinds, queryFaults...)
	case c.route.name != "" || c.route.repoID != 0:
		kinds = append(kinds, FaultNotFound)
	}
	kinds = mode.among(kinds)
	if len(kinds) == 0 {
		return nil
	}
	return c.drawFault(mode, &d, kinds[d.below(int64(len(kinds)))])
}

func (c *call) drawFault(mode Nasty, d *draws, kind string) *Fault {
	f := c.drawWireFault(mode, d, kind)
	if f.Kind == "" {
		f = drawQueryFault(d, kind)
	}
	f.Kind = kind
	return &f
}

func (c *call) drawWireFault(mode Nasty, d *draws, kind string) Fault {
	slow := time.Duration(d.below(int64(mode.Slow)))
	switch kind {
	case FaultServerError:
		return ServerError([]int{500, 502, 503, 504}[d.below(4)])
	case FaultHTMLPage:
		return HTMLErrorPage()
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
	case FaultHuge:
		return HugeBody(1 + int(d.below(int64(mode.Huge))))
	case FaultSecondary:
		return SecondaryLimit(time.Second)
	case FaultSecondarySilent:
		return SecondaryLimit(0)
	case FaultAbsurdWait:
		return AbsurdRetryAfter()
	case FaultUnauthorized:
		return BadCredentials()
	case FaultNotFound:
		return NotFoundOnce()
	case FaultRedirect:
		return Redirect([]int{http.StatusMovedPermanently, http.StatusFound}[d.below(2)], mode.Elsewhere+c.req.URL.Path)
	case FaultResetPast:
		return WindowEnds(c.now.Add(-time.Hour))
	case FaultResetFar:
		return WindowEnds(c.now.AddDate(10, 0, 0))
	case FaultClock:
		return ClockJump(time.Duration(d.below(48)-24) * time.Hour)
	}
	return Fault{}
}

// drawQueryFault makes a part of an answer null, anywhere.
func drawQueryFault(d *draws, kind string) Fault {
	p := Partial{Nth: int(d.below(1 << 30)), accept: isNode}
	switch kind {
	case FaultQueryTimeout:
		return QueryTimeout()
	case FaultPartialField:
		p.accept = isField
	case FaultPartialConnection:
		p.accept = isConnection
	case FaultPartialAlias:
		p.accept = isAlias
	case FaultPartialDeeper:
		p.accept, p.Deeper = isObject, true
	case FaultPartialNoPath:
		p.accept, p.NoPath = isObject, true
	case FaultNodeNotFound:
		p.Type, p.Message = "NOT_FOUND", "Could not resolve to a node."
	case FaultNodeForbidden:
		p.Type, p.Message = "FORBIDDEN", "Resource not accessible by personal access token"
	}
	return PartialAnswer(p)
}
