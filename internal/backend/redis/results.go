package redis

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// resultLife is how long a result is kept unless Options say otherwise.
const resultLife = time.Hour

// ResultsOptions are what Results need besides Redis.
type ResultsOptions struct {
	// Life is how long a result is kept; zero means an hour.
	Life time.Duration
}

// Results implements state.Pending on Redis.
type Results struct {
	db   *DB
	life time.Duration
}

var _ state.Pending = (*Results)(nil)

// NewResults returns the results that wait in db.
func NewResults(db *DB, o ResultsOptions) *Results {
	if o.Life <= 0 {
		o.Life = resultLife
	}
	return &Results{db: db, life: o.Life}
}

func (r *Results) key(job int64) string {
	return r.db.OwnKey(strconv.FormatInt(job, 10), "result")
}

// Keep implements state.Pending. A result that is too large is an error of
// code invalid: it is lost, and its call has to be made again.
func (r *Results) Keep(ctx context.Context, o state.Outcome) error {
	data, err := encodeOutcome(o)
	if err != nil {
		return err
	}
	c := r.db.Client
	command := c.B().Set().Key(r.key(o.Job)).Value(rueidis.BinaryString(data)).Px(r.life).Build()
	return failure(c.Do(ctx, command).Error())
}

// Take implements state.Pending. A result that cannot be read is an error of
// code corrupt.
func (r *Results) Take(ctx context.Context, job int64) (state.Outcome, bool, error) {
	c := r.db.Client
	data, err := c.Do(ctx, c.B().Get().Key(r.key(job)).Build()).AsBytes()
	if rueidis.IsRedisNil(err) {
		return state.Outcome{}, false, nil
	}
	if err != nil {
		return state.Outcome{}, false, failure(err)
	}
	o, err := decodeOutcome(data)
	if err != nil || o.Job != job {
		return state.Outcome{}, false, domain.Errorf(domain.CodeCorrupt, "the pending result of job %d cannot be read", job)
	}
	return o, true, nil
}

// Drop implements state.Pending.
func (r *Results) Drop(ctx context.Context, jobs ...int64) error {
	c := r.db.Client
	commands := make(rueidis.Commands, 0, len(jobs))
	for _, job := range jobs {
		commands = append(commands, c.B().Unlink().Key(r.key(job)).Build())
	}
	if len(commands) == 0 {
		return nil
	}
	var errs []error
	for _, reply := range c.DoMulti(ctx, commands...) {
		errs = append(errs, failure(reply.Error()))
	}
	return errors.Join(errs...)
}
