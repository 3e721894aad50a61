// Package redis keeps results that were paid for in Redis, each under a key of
// its own, so that they spread over a cluster and expire one by one.
package redis

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"strconv"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/redis/rueidis"

	"sluice/internal/domain"
	"sluice/internal/pending"
	"sluice/internal/redisdb"
	"sluice/internal/state"
)

const (
	defaultLife = time.Hour
	// mostBytes bounds what one result may take in Redis.
	mostBytes = 64 << 20
)

// Options are what Results needs besides Redis.
type Options struct {
	// Life is how long a result is kept; an hour if zero.
	Life time.Duration
}

// Results implements pending.Results.
type Results struct {
	db   *redisdb.DB
	life time.Duration
	enc  *zstd.Encoder
	dec  *zstd.Decoder
}

var _ pending.Results = (*Results)(nil)

// New returns results kept in a Redis; the caller closes that.
func New(db *redisdb.DB, o Options) (*Results, error) {
	if o.Life <= 0 {
		o.Life = defaultLife
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, fmt.Errorf("prepare compression: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0))
	if err != nil {
		return nil, fmt.Errorf("prepare decompression: %w", err)
	}
	return &Results{db: db, life: o.Life, enc: enc, dec: dec}, nil
}

func (r *Results) key(job int64) string { return r.db.OwnKey(strconv.FormatInt(job, 10), "result") }

// Keep implements pending.Results.
func (r *Results) Keep(ctx context.Context, o state.Outcome) error {
	var plain bytes.Buffer
	if err := gob.NewEncoder(&plain).Encode(o); err != nil {
		return fmt.Errorf("encode the result of job %d: %w", o.Job, err)
	}
	packed := r.enc.EncodeAll(plain.Bytes(), nil)
	if len(packed) > mostBytes {
		return domain.Errorf(domain.CodeInvalid, "the result of job %d takes %d bytes; at most %d are kept", o.Job, len(packed), mostBytes)
	}
	set := r.db.Client.B().Set().Key(r.key(o.Job)).Value(rueidis.BinaryString(packed)).Px(r.life).Build()
	return redisdb.Failure(r.db.Client.Do(ctx, set).Error())
}

// Take implements pending.Results.
func (r *Results) Take(ctx context.Context, job int64) (o state.Outcome, ok bool, err error) {
	packed, err := r.db.Client.Do(ctx, r.db.Client.B().Get().Key(r.key(job)).Build()).AsBytes()
	if rueidis.IsRedisNil(err) {
		return o, false, nil
	}
	if err != nil {
		return o, false, redisdb.Failure(err)
	}
	plain, err := r.dec.DecodeAll(packed, nil)
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(plain)).Decode(&o)
	}
	if err != nil {
		return state.Outcome{}, false, domain.Errorf(domain.CodeCorrupt, "the kept result of job %d cannot be read: %w", job, err)
	}
	return o, true, nil
}

// Drop implements pending.Results.
func (r *Results) Drop(ctx context.Context, jobs ...int64) error {
	commands := make(rueidis.Commands, len(jobs))
	for i, job := range jobs {
		commands[i] = r.db.Client.B().Del().Key(r.key(job)).Build()
	}
	for _, answer := range r.db.Client.DoMulti(ctx, commands...) {
		if err := answer.Error(); err != nil {
			return redisdb.Failure(err)
		}
	}
	return nil
}
