package keeper

import "math"

// debt is what is owed to a bucket. It is counted in parts of a unit. A unit has as many
// parts as its period has microseconds, and in every microsecond as many come back as it gets
// units in a period: nothing is rounded. The bucket is full when rest more parts have
// come back after the instant full; rest is less than comes back in a microsecond.
//
// It is counted in doubles, as scripts do.
type debt struct{ full, rest int64 }

// exactParts is as far as doubles count by ones: what is more is rounded up.
const exactParts = float64(int64(1) << 53)

// owed is how many parts are owed at an instant.
func (d *debt) owed(t *Terms, at int64) float64 {
	if at > d.full {
		return 0
	}
	return float64(d.full-at)*float64(t.Refill) + float64(d.rest)
}

// owedUnits is the same in units, of which a part is a whole one.
func (d *debt) owedUnits(t *Terms, at int64) int64 {
	if at > d.full {
		return 0
	}
	return ceilOf(d.owed(t, at) / float64(t.Period))
}

// owe sets how many parts are owed at an instant.
func (d *debt) owe(t *Terms, at int64, parts float64) {
	refill := float64(t.Refill)
	whole := math.Floor(parts / refill)
	rest := parts - whole*refill
	switch {
	case parts >= exactParts:
		whole, rest = math.Ceil(parts/refill), 0
	case rest < 0:
		whole, rest = whole-1, rest+refill
	case rest >= refill:
		whole, rest = whole+1, rest-refill
	}
	d.full, d.rest = at+int64(whole), int64(rest)
}

// bucketWait is after how long so much more may be taken.
func (c *Count) bucketWait(t *Terms, now, missing int64) int64 {
	parts := float64(missing-c.owedUnits(t, now))*float64(t.Period) + c.owed(t, now)
	return ceilOf(parts / float64(t.Refill))
}
