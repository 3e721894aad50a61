package refresh

import (
	"unicode/utf8"

	"sluice/internal/domain"
)

// The rules of the store of snapshots, which every adapter goes by: it loads
// rows, asks here, and writes rows. Instants are microseconds, as stores keep
// them.

const (
	maxSource = 255
	maxKey    = 1024
)

// Check refuses what no store of the program could keep.
func (e Entity) Check() error {
	if e.Source == "" || e.Key == "" || len(e.Source) > maxSource || len(e.Key) > maxKey || !utf8.ValidString(e.Source) || !utf8.ValidString(e.Key) {
		return domain.Errorf(domain.CodeInvalid, "an entity needs a source of up to %d and a key of up to %d bytes of UTF-8", maxSource, maxKey)
	}
	return nil
}

// CheckRefreshed refuses what no store can save: all of it must have a version,
// and be of different entities.
func CheckRefreshed(refreshed []Refreshed) error {
	met := make(map[Entity]bool, len(refreshed))
	for i := range refreshed {
		r := &refreshed[i]
		if err := r.Check(); err != nil {
			return err
		}
		if r.Version <= 0 || met[r.Entity] {
			return domain.Errorf(domain.CodeInvalid, "what is saved of %s needs a version and comes once", r.Entity)
		}
		met[r.Entity] = true
	}
	return nil
}

// Check refuses what is no status.
func (s *Status) Check() error {
	if s.Code != StatusRetrying && s.Code != StatusFailed {
		return domain.Errorf(domain.CodeInvalid, "%q is no status of an entity", s.Code)
	}
	return s.Entity.Check()
}

// Result is what one refresh brought, with its body as it is stored.
type Result struct {
	Entity
	Version int64
	// At is when it was looked at, Now when it is saved.
	At, Now int64
	Hash    Hash
	// Packed is the compressed body; nil if it seems to be stored already.
	Packed []byte
}

// Result is what a refresh brought, with its body not yet packed.
func (r *Refreshed) Result() Result {
	result := Result{Entity: r.Entity, Version: r.Version, At: r.At.UnixMicro(), Hash: r.Hash}
	result.Now = result.At
	if !r.Now.IsZero() {
		result.Now = r.Now.UnixMicro()
	}
	return result
}

// ValueID names a value of an entity.
type ValueID struct {
	Version int64
	Hash    Hash
}

// Known is what a store has of an entity beside the body of its value; the zero
// one is what it has of one that it does not know.
type Known struct {
	// Seen is the version of the last refresh, also if it found nothing new.
	Seen int64
	// ValueID names the present value; its version is 0 if there is none.
	ValueID
	Checked, Updated, Read int64
	// Due is when it is to be refreshed.
	Due  int64
	Tier Tier
	// Bytes is how large the present value is, compressed.
	Bytes int64
}

// Judge says what is to be done with a result. An event that was carried out
// twice, by two workers, has two results of one version: the later look counts,
// also if the other worker was held up and comes last.
func (k *Known) Judge(r *Result) Saved {
	switch {
	case r.Version < k.Seen, r.Version == k.Seen && r.At < LaterLook(k.Checked, r.At, r.Now):
		return Obsolete
	case k.Version > 0 && r.Hash == k.Hash:
		return Touched
	}
	return Stored
}

// Save changes what is known of an entity as was judged.
func (k *Known) Save(r *Result, as Saved, tiers Tiers) {
	if as == Obsolete {
		return
	}
	if k.Tier == 0 {
		k.Tier = Cold
	}
	// The look of an earlier version may have been the later one, if its event was
	// carried out twice: the version decides on the value, but the time of the
	// last look does not go back.
	k.Seen, k.Checked = r.Version, LaterLook(k.Checked, r.At, r.Now)
	k.Due = k.Checked + tiers.For(r.Entity).Interval(k.Tier)
	if as == Stored {
		k.ValueID, k.Updated, k.Bytes = ValueID{r.Version, r.Hash}, r.At, int64(len(r.Packed))
	}
}

// MarkRead makes an entity that was read Hot. If it was due later for its colder
// tier, it is due as if it had been Hot all along.
func (k *Known) MarkRead(at int64, tiers Tiers) {
	k.Due -= tiers.Sooner(k.Tier)
	k.Tier, k.Read = Hot, max(k.Read, at)
}

// MakeDue lets an entity fall into the tier that it has without being read, and
// makes it due again after that tier's interval.
func (k *Known) MakeDue(now int64, tiers Tiers) {
	k.Tier = tiers.Fallen(k.Tier, k.Read, now)
	k.Due = now + tiers.Interval(k.Tier)
}

// SaveCall is one Save on its way through a store that shares transactions.
type SaveCall struct {
	Results []Result
	Answers []Saved
	// Again is set if a body turned out to be needed that was not compressed:
	// nothing was done then.
	Again bool
}

// Judge answers all results by what is known of their entities, in their order,
// and reports whether they can be carried out.
func (c *SaveCall) Judge(known func(i int) *Known) bool {
	c.Answers, c.Again = make([]Saved, len(c.Results)), false
	for i := range c.Results {
		r := &c.Results[i]
		c.Answers[i] = known(i).Judge(r)
		c.Again = c.Again || c.Answers[i] == Stored && r.Packed == nil
	}
	return !c.Again
}

// Counts reports whether a status counts: the entity was not refreshed by a later
// version, and has no status of a later one, 0 if it has none.
func (s *VersionedStatus) Counts(seen, status int64) bool {
	return s.Version >= seen && s.Version >= status
}

// Accepts reports whether a request that is about to be published takes the place
// of the one that is kept. One that the upstream has put off stays, unless the new
// one is more urgent, and one that somebody has joined before it was published: it
// comes back, should that never happen.
func (kept *Pending) Accepts(e *Event) bool {
	if e.Version == kept.Version {
		return kept.NotBefore.IsZero()
	}
	return e.Version > kept.Version && (kept.NotBefore.IsZero() || kept.Waits == 0 || e.Priority > kept.Priority)
}

// Follows reports whether a request that somebody else is to publish takes the
// place of the one that is kept. That one may be kept, and not have been published:
// it comes back then.
func (kept *Pending) Follows(p *Pending) bool {
	if p.Version == kept.Version {
		return kept.NotBefore.IsZero() && kept.Waits == 0
	}
	return p.Version > kept.Version && (kept.NotBefore.IsZero() || kept.Waits == 0)
}

// Parks reports whether a request that is put off takes the place of the one that
// is kept. One that waits already is not put off by what the upstream never saw.
func (kept *Pending) Parks(p *Pending) bool {
	return p.Version >= kept.Version && (p.Waits > 0 || kept.NotBefore.IsZero())
}

// Wakes reports whether the request that is kept is the one that was brought back:
// not if it was carried out since, and put off again.
func (kept *Pending) Wakes(p *Pending) bool {
	return kept.Version == p.Version && kept.Waits == p.Waits
}

// Settles reports whether the request that is kept is done with a version.
func (kept *Pending) Settles(version int64) bool { return kept.Version <= version }

// NewCounts has every tier.
func NewCounts() Counts {
	c := Counts{Tiers: map[string]int64{}}
	for _, tier := range []Tier{Cold, Warm, Hot} {
		c.Tiers[tier.String()] = 0
	}
	return c
}

// AddStatus counts entities with a status.
func (c *Counts) AddStatus(code StatusCode, n int64) {
	if code == StatusRetrying {
		c.Retrying = n
	} else {
		c.Failed = n
	}
}

// AddTier counts snapshots of a tier.
func (c *Counts) AddTier(tier Tier, n, bytes int64) {
	c.Tiers[tier.String()] += n
	c.Snapshots += n
	c.Bytes += bytes
}
