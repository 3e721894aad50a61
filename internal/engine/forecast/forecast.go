// Package forecast says how long collections take. It is arithmetic alone: it
// asks nobody, and nothing is decided by it.
//
//	forecast.go  what is left, the rations and a pace → when it ends
//	pace.go      how fast lanes get on, from the answers that came
package forecast

import (
	"time"

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

// Load is what is to be looked ahead for.
type Load struct {
	// Outlooks is what is left, by bucket.
	Outlooks []state.Outlook
	// Owed is what others will take from the same rations, by bucket.
	Owed map[string]int64
	// Windows is what is known of the rations.
	Windows []quota.Window
	// Length is how long the windows of a bucket are; zero if unknown.
	Length func(bucket string) time.Duration
	// PerSecond is how many calls are made of all buckets together.
	PerSecond float64
	Now       time.Time
}

// Of says when a load will be done.
func Of(l Load) Forecast {
	f := Forecast{}
	rations := make([]ration, 0, len(l.Outlooks))
	for _, o := range l.Outlooks {
		b := BucketForecast{Outlook: o, Owed: l.Owed[o.Bucket]}
		r := ration{left: o.Left + b.Owed, now: l.Now, window: l.Length(o.Bucket)}
		for _, w := range l.Windows {
			if w.Bucket == o.Bucket {
				r = b.applyWindow(r, w)
			}
		}
		f.Buckets, rations = append(f.Buckets, b), append(rations, r)
	}
	f.setEnds(rations, l.PerSecond)
	return f
}

// applyWindow notes what is known of the bucket's window, for people and for the ration.
func (b *BucketForecast) applyWindow(r ration, w quota.Window) ration {
	b.Available, b.Limit, b.Reset = max(w.Available, 0), w.Limit, w.Reset
	r.available, r.reset, r.perWindow = int64(b.Available), w.Reset, int64(max(w.Limit-w.Floor, 1))
	return r
}

// setEnds finds out when the buckets are done. They share the workers: what
// one leaves, the other uses, so none is slower than all of them together, and
// all are done when their sum is.
func (f *Forecast) setEnds(rations []ration, pace float64) {
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
