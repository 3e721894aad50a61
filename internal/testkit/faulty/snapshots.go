package faulty

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// Snapshots is a store of snapshots with outages.
type Snapshots struct {
	refresh.Snapshots
	plan *Plan
}

var _ refresh.Snapshots = (*Snapshots)(nil)

// NewSnapshots wraps a store of snapshots.
func NewSnapshots(inner refresh.Snapshots, plan *Plan) *Snapshots { return &Snapshots{inner, plan} }

// Snapshot implements refresh.Snapshots.
func (s *Snapshots) Snapshot(ctx context.Context, e refresh.Entity) (refresh.Snapshot, bool, *refresh.Status, error) {
	return getTriple(ctx, s.plan, "Snapshot", func() (refresh.Snapshot, bool, *refresh.Status, error) { return s.Snapshots.Snapshot(ctx, e) })
}

// Save implements refresh.Snapshots.
func (s *Snapshots) Save(ctx context.Context, refreshed []refresh.Refreshed) ([]refresh.Saved, error) {
	return get(ctx, s.plan, "Save", func() ([]refresh.Saved, error) { return s.Snapshots.Save(ctx, refreshed) })
}

// SetStatus implements refresh.Snapshots.
func (s *Snapshots) SetStatus(ctx context.Context, statuses []refresh.VersionedStatus) error {
	return do(ctx, s.plan, "SetStatus", func() error { return s.Snapshots.SetStatus(ctx, statuses) })
}

// Read implements refresh.Snapshots.
func (s *Snapshots) Read(ctx context.Context, reads []refresh.Read) error {
	return do(ctx, s.plan, "Read", func() error { return s.Snapshots.Read(ctx, reads) })
}

// Due implements refresh.Snapshots.
func (s *Snapshots) Due(ctx context.Context, q refresh.DueQuery) (refresh.Due, error) {
	return get(ctx, s.plan, "Due", func() (refresh.Due, error) { return s.Snapshots.Due(ctx, q) })
}

// Counts implements refresh.Snapshots.
func (s *Snapshots) Counts(ctx context.Context, source string) (refresh.Counts, error) {
	return get(ctx, s.plan, "Counts", func() (refresh.Counts, error) { return s.Snapshots.Counts(ctx, source) })
}

// AddDeadLetters implements refresh.Snapshots.
func (s *Snapshots) AddDeadLetters(ctx context.Context, letters []refresh.DeadLetter) error {
	return do(ctx, s.plan, "AddDeadLetters", func() error { return s.Snapshots.AddDeadLetters(ctx, letters) })
}

// DeadLetter implements refresh.Snapshots.
func (s *Snapshots) DeadLetter(ctx context.Context, id string) (refresh.DeadLetter, error) {
	return get(ctx, s.plan, "DeadLetter", func() (refresh.DeadLetter, error) { return s.Snapshots.DeadLetter(ctx, id) })
}

// DeadLetterList implements refresh.Snapshots.
func (s *Snapshots) DeadLetterList(ctx context.Context, q refresh.DeadLetterQuery) ([]refresh.DeadLetter, error) {
	return get(ctx, s.plan, "DeadLetterList", func() ([]refresh.DeadLetter, error) { return s.Snapshots.DeadLetterList(ctx, q) })
}

// DeadLetterCounts implements refresh.Snapshots.
func (s *Snapshots) DeadLetterCounts(ctx context.Context) (map[string]int64, error) {
	return get(ctx, s.plan, "DeadLetterCounts", func() (map[string]int64, error) { return s.Snapshots.DeadLetterCounts(ctx) })
}

// RemoveDeadLetters implements refresh.Snapshots.
func (s *Snapshots) RemoveDeadLetters(ctx context.Context, ids []string) ([]refresh.DeadLetter, error) {
	return get(ctx, s.plan, "RemoveDeadLetters", func() ([]refresh.DeadLetter, error) { return s.Snapshots.RemoveDeadLetters(ctx, ids) })
}

// AgeOut implements refresh.Snapshots.
func (s *Snapshots) AgeOut(ctx context.Context, before time.Time, limit int) (int, error) {
	return get(ctx, s.plan, "AgeOut", func() (int, error) { return s.Snapshots.AgeOut(ctx, before, limit) })
}

// Values implements refresh.Snapshots.
func (s *Snapshots) Values(ctx context.Context, before time.Time, after string, limit int) ([]refresh.Value, string, error) {
	return getPair(ctx, s.plan, "Values", func() ([]refresh.Value, string, error) { return s.Snapshots.Values(ctx, before, after, limit) })
}

// Forget implements refresh.Snapshots.
func (s *Snapshots) Forget(ctx context.Context, upTo string) (int, error) {
	return get(ctx, s.plan, "Forget", func() (int, error) { return s.Snapshots.Forget(ctx, upTo) })
}

// Restore implements refresh.Snapshots.
func (s *Snapshots) Restore(ctx context.Context, values []refresh.Value) error {
	return do(ctx, s.plan, "Restore", func() error { return s.Snapshots.Restore(ctx, values) })
}

// PastValues implements refresh.Snapshots.
func (s *Snapshots) PastValues(ctx context.Context, q refresh.PastQuery) ([]refresh.PastValue, error) {
	return get(ctx, s.plan, "PastValues", func() ([]refresh.PastValue, error) { return s.Snapshots.PastValues(ctx, q) })
}

// Follow implements refresh.Snapshots.
func (s *Snapshots) Follow(ctx context.Context, requests []refresh.Pending) error {
	return do(ctx, s.plan, "Follow", func() error { return s.Snapshots.Follow(ctx, requests) })
}

// Accept implements refresh.Snapshots.
func (s *Snapshots) Accept(ctx context.Context, events []refresh.Event) error {
	return do(ctx, s.plan, "Accept", func() error { return s.Snapshots.Accept(ctx, events) })
}

// Park implements refresh.Snapshots.
func (s *Snapshots) Park(ctx context.Context, requests []refresh.Pending) error {
	return do(ctx, s.plan, "Park", func() error { return s.Snapshots.Park(ctx, requests) })
}

// Wake implements refresh.Snapshots.
func (s *Snapshots) Wake(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]refresh.Pending, time.Time, error) {
	return getPair(ctx, s.plan, "Wake", func() ([]refresh.Pending, time.Time, error) { return s.Snapshots.Wake(ctx, now, lease, limit) })
}

// Woken implements refresh.Snapshots.
func (s *Snapshots) Woken(ctx context.Context, requests []refresh.Pending) error {
	return do(ctx, s.plan, "Woken", func() error { return s.Snapshots.Woken(ctx, requests) })
}

// Settle implements refresh.Snapshots.
func (s *Snapshots) Settle(ctx context.Context, locks []refresh.Lock) error {
	return do(ctx, s.plan, "Settle", func() error { return s.Snapshots.Settle(ctx, locks) })
}

// Standings implements refresh.Snapshots.
func (s *Snapshots) Standings(ctx context.Context, entities []refresh.Entity) ([]refresh.Standing, error) {
	return get(ctx, s.plan, "Standings", func() ([]refresh.Standing, error) { return s.Snapshots.Standings(ctx, entities) })
}

// Unfinished implements refresh.Snapshots.
func (s *Snapshots) Unfinished(ctx context.Context, p domain.Priority, after string, limit int) ([]refresh.Pending, string, error) {
	return getPair(ctx, s.plan, "Unfinished", func() ([]refresh.Pending, string, error) { return s.Snapshots.Unfinished(ctx, p, after, limit) })
}

// Waiting implements refresh.Snapshots.
func (s *Snapshots) Waiting(ctx context.Context) (int64, error) {
	return get(ctx, s.plan, "Waiting", func() (int64, error) { return s.Snapshots.Waiting(ctx) })
}

// LogEpoch implements refresh.Snapshots.
func (s *Snapshots) LogEpoch(ctx context.Context, topic string) (string, error) {
	return get(ctx, s.plan, "LogEpoch", func() (string, error) { return s.Snapshots.LogEpoch(ctx, topic) })
}

// SetLogEpoch implements refresh.Snapshots.
func (s *Snapshots) SetLogEpoch(ctx context.Context, topic, epoch string) error {
	return do(ctx, s.plan, "SetLogEpoch", func() error { return s.Snapshots.SetLogEpoch(ctx, topic, epoch) })
}

// VersionMark implements refresh.Snapshots.
func (s *Snapshots) VersionMark(ctx context.Context) (int64, error) {
	return get(ctx, s.plan, "VersionMark", func() (int64, error) { return s.Snapshots.VersionMark(ctx) })
}

// RaiseVersionMark implements refresh.Snapshots.
func (s *Snapshots) RaiseVersionMark(ctx context.Context, version int64) error {
	return do(ctx, s.plan, "RaiseVersionMark", func() error { return s.Snapshots.RaiseVersionMark(ctx, version) })
}
