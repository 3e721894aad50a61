package engine

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/state"
)

// Forecast says what a run will still take and when it will end.
type Forecast struct {
	Buckets []BucketForecast `json:"buckets"`
	// Left is the sum of the calls still to be made.
	Left int64 `json:"calls_left"`
	// Discovering is true while repositories may still be found; the counts
	// can only grow then.
	Discovering bool `json:"discovering"`
	// Ends is when the slowest bucket is done; zero if it cannot be said.
	Ends       time.Time `json:"ends,omitzero"`
	Bottleneck string    `json:"bottleneck,omitempty"`
	// EndsWithOneMore is when it would end if one more owner lent a token.
	EndsWithOneMore time.Time `json:"ends_with_one_more_owner,omitzero"`
}

// BucketForecast is one bucket's part. Owed counts what other runs of the same
// owner will take from it.
type BucketForecast struct {
	state.Outlook
	Owed      int64     `json:"owed_to_others"`
	Available int       `json:"available"`
	Limit     int       `json:"limit"`
	Reset     time.Time `json:"reset,omitzero"`
	Ends      time.Time `json:"ends,omitzero"`
}

// forecast looks ahead for a run of an account.
func (e *Engine) forecast(ctx context.Context, run domain.Run, owner string, windows []quota.Window) (Forecast, error) {
	outlooks, err := e.State.Outlook(ctx, run.ID)
	if err != nil {
		return Forecast{}, err
	}
	owed, err := e.owedToOthers(ctx, run, owner)
	if err != nil {
		return Forecast{}, err
	}
	f := Forecast{}
	var rations []ration
	pace := 0.0
	for _, o := range outlooks {
		b := BucketForecast{Outlook: o, Owed: owed[o.Bucket]}
		r := ration{left: o.Left + b.Owed, now: e.cfg.Now()}
		var perSecond float64
		perSecond, r.window = e.paces.of(Lane(owner, o.Bucket))
		if r.left > 0 {
			pace += perSecond
		}
		for _, w := range windows {
			if w.Bucket == o.Bucket {
				b.Available, b.Limit, b.Reset = max(w.Available, 0), w.Limit, w.Reset
				r.available, r.reset, r.perWindow = int64(b.Available), w.Reset, int64(max(w.Limit-w.Floor, 1))
			}
		}
		f.Buckets, rations = append(f.Buckets, b), append(rations, r)
	}
	f.conclude(rations, pace)
	return f, nil
}

// conclude finds out when the buckets are done. They share the workers: what
// one leaves, the other uses, so none is slower than all of them together, and
// all are done when their sum is.
func (f *Forecast) conclude(rations []ration, pace float64) {
	var sum ration
	most := int64(0)
	for i, r := range rations {
		b := &f.Buckets[i]
		f.Left += b.Left
		f.Discovering = f.Discovering || b.Discovering > 0
		r.perSecond = pace
		b.Ends = r.ends()
		sum.left, sum.now, sum.perSecond = sum.left+r.left, r.now, pace
		if b.Left == 0 || b.Ends.IsZero() {
			continue
		}
		if b.Ends.After(f.Ends) {
			f.Ends, f.Bottleneck = b.Ends, b.Bucket
		}
		r.available += r.perWindow
		r.perWindow *= 2
		f.EndsWithOneMore = latest(f.EndsWithOneMore, r.ends())
	}
	whole := sum.ends()
	if f.Left == 0 || whole.IsZero() {
		return
	}
	f.EndsWithOneMore = latest(f.EndsWithOneMore, whole)
	if !whole.After(f.Ends) {
		return
	}
	// The ration is no bottleneck then; the bucket with the most to do is.
	f.Ends = whole
	for _, b := range f.Buckets {
		if b.Left > most {
			most, f.Bottleneck = b.Left, b.Bucket
		}
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// owedToOthers sums up, by bucket, what the other active runs of an owner will
// take: the lane serves them in turn.
func (e *Engine) owedToOthers(ctx context.Context, run domain.Run, owner string) (map[string]int64, error) {
	owed := map[string]int64{}
	runs, err := e.State.Runs(ctx, state.RunQuery{ActiveOnly: true, Limit: 1000})
	if err != nil {
		return nil, err
	}
	for _, other := range runs {
		if other.ID == run.ID {
			continue
		}
		a, err := e.accounts.get(ctx, other.AccountID)
		if err != nil || a.Owner != owner {
			continue
		}
		outlooks, err := e.State.Outlook(ctx, other.ID)
		if err != nil {
			return nil, err
		}
		for _, o := range outlooks {
			owed[o.Bucket] += o.Left
		}
	}
	return owed, nil
}

// ration is what decides when a bucket's calls are done.
type ration struct {
	left, available, perWindow int64
	perSecond                  float64
	now, reset                 time.Time
	window                     time.Duration
}

// ends goes through the windows: in each, as many calls are made as it allows
// and as there is time for.
func (r ration) ends() time.Time {
	if r.left <= 0 {
		return r.now
	}
	if r.perSecond <= 0 {
		return time.Time{}
	}
	needs := func(calls int64) time.Duration {
		return time.Duration(float64(calls) / r.perSecond * float64(time.Second))
	}
	if r.reset.IsZero() || r.perWindow <= 0 || r.window <= 0 {
		return r.now.Add(needs(r.left))
	}
	at, left := r.now, r.left
	if r.reset.After(at) {
		fits := min(r.available, int64(r.reset.Sub(at).Seconds()*r.perSecond))
		if left <= fits {
			return at.Add(needs(left))
		}
		left -= fits
		at = r.reset
	}
	each := min(r.perWindow, max(int64(r.window.Seconds()*r.perSecond), 1))
	full := (left - 1) / each
	return at.Add(time.Duration(full) * r.window).Add(needs(left - full*each))
}
