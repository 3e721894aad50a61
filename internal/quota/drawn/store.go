package drawn

import (
	"context"
	"strings"

	"sluice/internal/domain"
	"sluice/internal/ration/keeper"
)

// Rows are where the windows of buckets are stored; those of rations stand beside
// them.
type Rows interface {
	QuotaWindows(ctx context.Context, owner string) ([]domain.QuotaWindow, error)
	PutQuotaWindow(ctx context.Context, w domain.QuotaWindow) error
}

// ownerPrefix begins the owners of rows that are those of rations. No account is
// called so: names have no spaces.
const ownerPrefix = "ration "

// Store implements keeper.Store. A row's owner is the group, its bucket the count, its
// points what was taken, its reset the window's end, and touched is when all of it has
// come back.
type Store struct{ rows Rows }

var _ keeper.Store = (*Store)(nil)

// NewStore returns a store in these rows.
func NewStore(rows Rows) *Store { return &Store{rows} }

// Load implements keeper.Store.
func (s *Store) Load(ctx context.Context, group string) ([]keeper.Stored, error) {
	rows, err := s.rows.QuotaWindows(ctx, ownerPrefix+group)
	if err != nil {
		return nil, err
	}
	all := make([]keeper.Stored, len(rows))
	for i, w := range rows {
		all[i] = keeper.Stored{
			Group: group, Count: w.Bucket, Limit: int64(w.Limit), Spent: int64(w.Points), Late: int64(w.InFlight),
			End: w.Reset, Until: w.Touched, Seq: w.Seq,
		}
	}
	return all, nil
}

// Save implements keeper.Store.
func (s *Store) Save(ctx context.Context, all []keeper.Stored) error {
	for _, one := range all {
		err := s.rows.PutQuotaWindow(ctx, domain.QuotaWindow{
			Owner: ownerPrefix + one.Group, Bucket: one.Count, Limit: int(one.Limit), Remaining: int(max(one.Limit-one.Spent, 0)),
			Points: int(one.Spent), InFlight: int(one.Late), Reset: one.End, Touched: one.Until, Seq: one.Seq,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Groups lists the groups of which something is stored.
func (s *Store) Groups(ctx context.Context) ([]string, error) {
	rows, err := s.rows.QuotaWindows(ctx, "")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, w := range rows {
		if name, ok := strings.CutPrefix(w.Owner, ownerPrefix); ok {
			names = append(names, name)
		}
	}
	return names, nil
}
