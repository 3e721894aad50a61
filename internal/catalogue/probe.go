package catalogue

import (
	"context"
	"encoding/json"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
	"sluice/internal/record"
	"sluice/internal/source"
	"sluice/internal/source/declared"
)

// Try lets somebody make calls to a source for a target, within its rations: with the
// credential that is given, or else with that of the account.
type Try func(ctx context.Context, of, target, token string, use func(src source.Source, token string, permit Permit) error) error

// Permit reserves one call; what its answer means is to be told.
type Permit = func(context.Context, domain.JobSpec) (answered func(source.Result) error, err error)

// Probe is what a source showed when it was tried out.
type Probe struct {
	At     time.Time `json:"at"`
	Target string    `json:"target,omitempty"`
	declared.Probed
}

// probeKept is how long it is shown.
const probeKept = 90 * 24 * time.Hour

// anyTarget stands for one where the addresses speak of none.
const anyTarget = "x"

// Probe makes at most three calls to a source that this process collects, within its
// rations, and keeps what they showed.
func (c *Catalogue) Probe(ctx context.Context, name, target, token string) (p Probe, err error) {
	d, err := c.Get(ctx, name)
	if err != nil {
		return p, err
	}
	if d.File == "" || !d.Collected || c.Try == nil {
		return p, domain.Errorf(domain.CodeConflict, "only a source that a file describes, and that is collected here, can be probed; a shipped one must be added first")
	}
	p = Probe{At: c.Now().UTC().Truncate(time.Microsecond), Target: target}
	login := target
	if login == "" {
		login = anyTarget
	}
	err = c.Try(ctx, name, login, token, func(src source.Source, token string, permit Permit) error {
		prober, ok := src.(declared.Prober)
		if !ok {
			return domain.Errorf(domain.CodeConflict, "the source %s cannot be probed", name)
		}
		found, err := prober.Probe(ctx, declared.Probe{Target: target, Token: token, Wait: backoff.Sleep, Permit: permit})
		if err == nil {
			p.Probed = *found
		}
		return err
	})
	if err != nil {
		return p, err
	}
	value, err := json.Marshal(p)
	if err != nil {
		return p, domain.Errorf(domain.CodeInternal, "encode a probe: %w", err)
	}
	if len(value) > record.MostValue {
		return p, nil // it is shown this once
	}
	return p, c.Records.Put(ctx, record.Record{Kind: record.Probe, Name: name, Value: value, Changed: p.At, Expires: p.At.Add(probeKept)})
}

// lastProbe is what the last probe showed, nil if there was none.
func (c *Catalogue) lastProbe(ctx context.Context, name string) (*Probe, error) {
	r, err := c.Records.Get(ctx, record.Probe, name)
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && c.Now().After(r.Expires) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := &Probe{}
	if err := json.Unmarshal(r.Value, p); err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "the last probe of %s cannot be read: %w", name, err)
	}
	return p, nil
}
