// Package redis keeps pending results in Redis, where another process finds
// them. Each has a key of its own, spread over a cluster, and a life of its own.
package redis

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/domain"
	"sluice/internal/pending"
	"sluice/internal/redisdb"
	"sluice/internal/state"
)

// resultLife is how long a result is kept unless Options say otherwise.
const resultLife = time.Hour

// Options are what Results need besides Redis.
type Options struct {
	// Life is how long a result is kept; zero means an hour.
	Life time.Duration
}

// Results implements pending.Results on Redis.
type Results struct {
	db   *redisdb.DB
	life time.Duration
}

var _ pending.Results = (*Results)(nil)

// New returns the results that wait in db.
func New(db *redisdb.DB, o Options) *Results {
	if o.Life <= 0 {
		o.Life = resultLife
	}
	return &Results{db: db, life: o.Life}
}

func (r *Results) key(job int64) string {
	return r.db.OwnKey(strconv.FormatInt(job, 10), "result")
}

// Keep implements pending.Results. A result that is too large is an error of
// code invalid: it is lost, and its call has to be made again.
func (r *Results) Keep(ctx context.Context, o state.Outcome) error {
	data, err := encode(o)
	if err != nil {
		return err
	}
	c := r.db.Client
	command := c.B().Set().Key(r.key(o.Job)).Value(rueidis.BinaryString(data)).Px(r.life).Build()
	return redisdb.Failure(c.Do(ctx, command).Error())
}

// Take implements pending.Results. A result that cannot be read is an error of
// code corrupt.
func (r *Results) Take(ctx context.Context, job int64) (state.Outcome, bool, error) {
	c := r.db.Client
	data, err := c.Do(ctx, c.B().Get().Key(r.key(job)).Build()).AsBytes()
	if rueidis.IsRedisNil(err) {
		return state.Outcome{}, false, nil
	}
	if err != nil {
		return state.Outcome{}, false, redisdb.Failure(err)
	}
	o, err := decode(data)
	if err != nil || o.Job != job {
		return state.Outcome{}, false, domain.Errorf(domain.CodeCorrupt, "the pending result of job %d cannot be read", job)
	}
	return o, true, nil
}

// Drop implements pending.Results.
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
		errs = append(errs, redisdb.Failure(reply.Error()))
	}
	return errors.Join(errs...)
}
