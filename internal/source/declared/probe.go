package declared

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
)

// mostProbes is how many calls a probe makes.
const mostProbes = 3

// probeGap lies between two calls of a probe: it does not know what others take of the
// ration at the same time.
const probeGap = time.Second

// Probe is what is to be tried out.
type Probe struct {
	Target, Token string
	// Wait waits between two calls, and says whether to go on.
	Wait func(context.Context, time.Duration) bool
	// Permit reserves a call, and returns what is to be told of its answer; nil reserves
	// nothing.
	Permit func(context.Context, domain.JobSpec) (answered func(source.Result) error, err error)
}

// Prober is a source that can be probed.
type Prober interface {
	Probe(ctx context.Context, p Probe) (*Probed, error)
}

var _ Prober = (*Source)(nil)

// Probed is what the upstream showed.
type Probed struct {
	Calls []ProbeCall `json:"calls"`
	// Seen are findings for people, Lines what the file lacks, as YAML; "" for nothing.
	Seen  []string `json:"seen"`
	Lines string   `json:"lines,omitempty"`
}

// ProbeCall is one call of a probe.
type ProbeCall struct {
	Stream  string `json:"stream"`
	Address string `json:"address"`
	Status  int    `json:"status,omitempty"`
	// Failure is why there was no answer.
	Failure string `json:"failure,omitempty"`
}

// Probe makes at most three calls, as the source itself would, and looks at what the
// upstream tells of its rations, pages, tags and times. It stops when the upstream
// wants to be left alone, and asks no more often than the file's rations allow.
func (s *Source) Probe(ctx context.Context, p Probe) (*Probed, error) {
	token, err := s.CheckCredential(p.Token)
	if err != nil {
		return nil, err
	}
	if p.Token = token; p.Target == "" {
		if s.file.speaksOfTarget() {
			return nil, domain.Errorf(domain.CodeInvalid, "what %s is asked depends on the %s; say which with --target", s.file.Title, s.file.Target)
		}
		p.Target = "x"
	}
	if err := s.CheckLogin(p.Target); err != nil {
		return nil, err
	}
	out := &Probed{Calls: []ProbeCall{}, Seen: []string{}}
	look := &probeLook{s: s, out: out}
	for i, next := range s.probes() {
		if i >= s.mostProbes() || i > 0 && !p.Wait(ctx, probeGap) {
			break
		}
		if !s.probe(ctx, p, next.stream, next.again, look) {
			break
		}
	}
	look.propose()
	return out, nil
}

func (f *File) speaksOfTarget() bool {
	if f.base.uses("target") {
		return true
	}
	for _, h := range f.headers {
		if h.made.uses("target") {
			return true
		}
	}
	for _, s := range f.Streams {
		if s.whole().uses("target") {
			return true
		}
	}
	return false
}

// mostProbes is how many calls every ration has room for.
func (s *Source) mostProbes() int {
	most := mostProbes
	for i := range s.file.Rations {
		if r := &s.file.Rations[i]; r.Calls > 0 && !r.Every.IsZero() && r.Every.Length != time.Second {
			most = min(most, r.Usable())
		}
	}
	return most
}

type probed struct {
	stream *Stream
	// again asks for the same page once more, with its tag if it had one: what the
	// headers say then tells delays from instants.
	again bool
}

// probes are the calls that a probe would like to make: a stream that has no parent,
// the same once more, and another one.
func (s *Source) probes() []probed {
	var roots []*Stream
	for _, stream := range s.file.Streams {
		if stream.Parent == nil {
			roots = append(roots, stream)
		}
	}
	all := []probed{{roots[0], false}, {roots[0], true}}
	if len(roots) > 1 {
		all = append(all, probed{roots[1], false})
	}
	return all
}

// probe makes one call and says whether more may follow.
func (s *Source) probe(ctx context.Context, p Probe, stream *Stream, again bool, look *probeLook) bool {
	c := &call{
		Call: source.Call{Run: domain.Run{Login: p.Target, Source: s.file.Name}, Token: p.Token}, s: s,
		operation: operation{stream, modeMain}, request: stream.whole(),
	}
	made := ProbeCall{Stream: stream.Name}
	defer func() { look.out.Calls = append(look.out.Calls, made) }()
	var err error
	if c.base, err = s.base(p.Target); err != nil {
		made.Failure = hidden(err.Error(), p.Token)
		return false
	}
	if c.auth, err = s.authOf(p.Token); err != nil {
		made.Failure = err.Error()
		return false
	}
	if failed := (signing{c}).signedIn(ctx); failed != nil {
		c.conceal(failed)
		made.Failure = failed.Message
		return false
	}
	if again {
		c.tag = look.tag
	}
	req, err := c.httpRequest()
	if err != nil {
		made.Failure = hidden(err.Error(), p.Token)
		return false
	}
	if p.Permit == nil {
		p.Permit = func(context.Context, domain.JobSpec) (func(source.Result) error, error) {
			return func(source.Result) error { return nil }, nil
		}
	}
	answered, err := p.Permit(ctx, s.spec(jobType(stream, modeMain), rootResource, params{}, domain.ClassDiscovery))
	if err != nil {
		made.Failure = hidden(err.Error(), p.Token)
		return false
	}
	made.Address = hidden(req.Method+" "+c.withoutSecret(c.asked.String()), p.Token)
	a, none := s.fetch(ctx, req)
	if none != nil {
		made.Failure = hidden(errors.Join(errors.New(none.Failure.Message), answered(*none)).Error(), p.Token)
		return false
	}
	res := source.Result{Verdict: source.Done, Quota: s.rateOf(a, quota.Response{})}
	res.Quota.Told = c.told(a)
	if err := answered(res); err != nil {
		made.Failure = err.Error()
		return false
	}
	if made.Status = a.status; stream.xml && a.status == http.StatusOK {
		a.readXML()
	}
	look.answer(stream, a, again)
	if wait, hit := s.file.Park.Hit(a.ration()); hit {
		look.say("the upstream wants to be left alone (%d) for %s; the probe stops", a.status, wait)
		return false
	}
	return a.status < 300 || a.status == http.StatusNotModified || a.status == http.StatusNotFound
}

func hidden(text, token string) string {
	if len(token) > 3 && token != Public {
		return strings.ReplaceAll(text, token, "[token]")
	}
	return text
}
