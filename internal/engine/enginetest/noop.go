// Package enginetest offers sources that call no upstream, to test and measure
// the engine alone.
package enginetest

import (
	"context"
	"encoding/json"
	"fmt"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
)

// Noop is a source whose calls succeed at once. A run starts with one job that
// fans out into Jobs others, FanOut at a time.
type Noop struct {
	Jobs   int
	FanOut int
	// OnCall, if set, sees every call and may replace its result.
	OnCall func(source.Call) (source.Result, bool)
}

var _ source.Source = (*Noop)(nil)

type noopParams struct {
	From, To int
}

// Name implements source.Source.
func (n *Noop) Name() string { return "noop" }

// Describe implements source.Source.
func (n *Noop) Describe() source.Description {
	return source.Description{Name: n.Name(), Title: "nothing"}
}

// CheckLogin implements source.Source.
func (n *Noop) CheckLogin(login string) error {
	if login == "" {
		return domain.Errorf(domain.CodeInvalid, "a login is needed")
	}
	return nil
}

// Plan implements source.Source.
func (n *Noop) Plan(domain.Run) ([]domain.JobSpec, error) {
	spec, err := spread(0, n.Jobs)
	return []domain.JobSpec{spec}, err
}

// Ask implements source.Source.
func (n *Noop) Ask(job domain.JobSpec, owner string) (quota.Ask, error) {
	return quota.Ask{Owner: owner, Bucket: job.Bucket, Endpoint: job.Type, Cost: 1, Points: 1}, nil
}

// Call implements source.Source.
func (n *Noop) Call(_ context.Context, c source.Call) source.Result {
	if n.OnCall != nil {
		if r, ok := n.OnCall(c); ok {
			return r
		}
	}
	r := source.Result{Verdict: source.Done}
	if c.Job.Type != "SPREAD" {
		return r
	}
	var p noopParams
	if err := json.Unmarshal(c.Job.Params, &p); err != nil {
		return source.Result{Verdict: source.Fail, Failure: &domain.Failure{Kind: domain.FailureInvalid, Message: err.Error()}}
	}
	end := min(p.From+max(n.FanOut, 1), p.To)
	for i := p.From; i < end; i++ {
		r.Next = append(r.Next, domain.JobSpec{Type: "NOOP", Resource: fmt.Sprintf("item:%d", i), Bucket: "core", Class: domain.ClassChild})
	}
	if end < p.To {
		next, err := spread(end, p.To)
		if err != nil {
			return source.Result{Verdict: source.Fail, Failure: &domain.Failure{Kind: domain.FailureInvalid, Message: err.Error()}}
		}
		r.Next = append(r.Next, next)
	}
	return r
}

func spread(from, to int) (domain.JobSpec, error) {
	params, err := json.Marshal(noopParams{from, to})
	return domain.JobSpec{
		Type: "SPREAD", Resource: "all", PageKey: fmt.Sprint(from), Bucket: "core", Class: domain.ClassDiscovery, Params: params,
	}, err
}
