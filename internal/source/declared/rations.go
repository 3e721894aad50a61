package declared

import (
	"fmt"
	"slices"
	"time"

	"sluice/internal/quota"
	"sluice/internal/ration"
	"sluice/internal/source"
)

// Today's keeper counts, for each owner, one window and one sliding rate in a
// bucket. A file may state any number of rations, of other shapes too. Until a keeper
// draws on all of them at once, a source has one bucket whose two counts imply every
// ration of the file: no call is ever made beyond one, but some are made later than
// they might be. What is not exact is told by kept.notes.
//
// This is the only place that knows it: what a ration is stands in internal/ration.

// kept is what the rations of a file are to the keeper.
type kept struct {
	limits      quota.Limits
	concurrency int
	// window is the ration whose state answers tell; nil if none does.
	window *ration.Ration
	// shared says that all accounts have one count.
	shared bool
	notes  []string
}

// without is the limit of a window that does not bound: it is kept as a rate.
const without = 1 << 30

func (f *File) kept() kept {
	k := kept{limits: quota.Limits{Limit: without, Window: time.Hour, PointsShared: true}}
	var rates []*ration.Ration
	for i := range f.Rations {
		r := &f.Rations[i]
		k.note(f, r)
		switch {
		case r.Shape == ration.Concurrent:
			if n := r.Usable(); k.concurrency == 0 || n < k.concurrency {
				k.concurrency = n
			}
		case k.window == nil && r.Read != (ration.Read{}):
			k.window = r
		default:
			rates = append(rates, r)
		}
	}
	k.setWindow(&rates)
	k.setRate(rates)
	return k
}

// setWindow lets the window count what answers tell of, or else the longest of
// several rations: the others are rates.
func (k *kept) setWindow(rates *[]*ration.Ration) {
	w := k.window
	if w == nil && len(*rates) > 1 {
		slices.SortStableFunc(*rates, func(a, b *ration.Ration) int {
			return int(a.Every.Length/time.Second) - int(b.Every.Length/time.Second)
		})
		last := len(*rates) - 1
		if (*rates)[last].Every.Length >= time.Hour {
			w, *rates = (*rates)[last], (*rates)[:last]
		}
	}
	if w == nil {
		return
	}
	k.limits.Limit, k.limits.Window = w.Calls, w.Every.Length
	if w.Calls == 0 {
		// It is learnt with the first answer; until then one call goes after another.
		k.limits.Limit = 60
	}
	if w.Every.IsZero() {
		k.limits.Window = time.Minute
	}
	k.limits.Floor = max(k.limits.Limit-usable(w, k.limits.Limit), 0)
	if w.Shape == ration.Sliding || w.Shape == ration.Bucket {
		*rates = append(*rates, w)
	}
}

func usable(r *ration.Ration, of int) int {
	one := *r
	one.Calls = of
	return max(one.Usable(), 1)
}

// setRate makes one sliding rate that implies several: n calls in a period of w are
// at most n × ⌈v/w⌉ in any longer period v.
func (k *kept) setRate(rates []*ration.Ration) {
	if len(rates) == 0 {
		return
	}
	shortest := rates[0].Every.Length
	for _, r := range rates {
		shortest = min(shortest, r.Every.Length)
	}
	n := without
	for _, r := range rates {
		times := int((r.Every.Length + shortest - 1) / shortest)
		n = min(n, amount(r)/times)
	}
	if n < 1 {
		n = without
		for _, r := range rates {
			n, shortest = min(n, amount(r)), max(shortest, r.Every.Length)
		}
		n = max(n, 1)
	}
	if len(rates) > 1 {
		k.notes = append(k.notes, fmt.Sprintf("%d rations are kept as one of %d calls every %s, which implies all of them", len(rates), n, shortest))
	}
	k.limits.PointsPerMinute, k.limits.PointsPeriod = n, shortest
}

// amount is how many calls of a ration may fall into any period of its length.
func amount(r *ration.Ration) int {
	n := r.Usable()
	if r.Shape == ration.Bucket {
		// A full bucket can be emptied at once while it refills: both together must
		// not exceed what it holds and gets back.
		back := r.Refill
		if back == 0 {
			back = r.Calls
		}
		return max(min(n, back), 1)
	}
	return n
}

// note says what is kept more strictly than it is stated.
func (k *kept) note(f *File, r *ration.Ration) {
	say := func(format string, args ...any) {
		k.notes = append(k.notes, "ration "+r.Name+": "+fmt.Sprintf(format, args...))
	}
	for _, d := range r.Per {
		switch {
		case d == ration.PerSource:
			k.shared = true
		case d == ration.PerStream:
			say("all streams share one count for now, which is stricter")
		case d == ration.PerOwner && f.owner == nil:
			say("without owner: each credential is taken for another owner's")
		case d.Header() != "":
			say("all values of %s share one count for now, which is stricter", d.Header())
		}
	}
	if len(r.Match) > 0 {
		say("all calls are counted for now, not only those that match, which is stricter")
	}
	if r.Shape == ration.Bucket {
		say("it is kept as a rate of what comes back, without the burst of a full bucket")
	}
	if r.Every.Part != "" {
		say("its window is kept as any %s, not by the calendar, which is stricter", r.Every.Length)
	}
	if len(f.Park.What) > 0 && (f.Park.What == ration.WhoStream || f.Park.What == ration.WhoSource) && k.concurrency == 0 && len(k.notes) == 0 {
		say("whoever is told to stay away, the owner waits")
	}
}

// bucket is the one that all calls of the source draw on.
func (f *File) bucket() string { return f.Name }

func (f *File) sourceRations() []source.Ration {
	return []source.Ration{{Bucket: f.bucket(), Limits: f.kept().limits}}
}

// Notes are what of the rations is kept more strictly than it is stated.
func (f *File) Notes() []string {
	notes := f.kept().notes
	if f.Unknown {
		notes = append(notes, "ration: unknown asks one call a second; find out what the upstream grants, and state it")
	}
	return notes
}
