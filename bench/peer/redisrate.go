package peer

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

// RedisRate is redis_rate on go-redis: a limit in Redis and nothing else.
type RedisRate struct {
	client  *redis.Client
	limiter *redis_rate.Limiter
}

// NewRedisRate returns redis_rate on the Redis server at addr. Every one of its
// callers has a connection.
func NewRedisRate(addr string, callers int) *RedisRate {
	client := redis.NewClient(&redis.Options{Addr: addr, PoolSize: callers})
	return &RedisRate{client, redis_rate.NewLimiter(client)}
}

// boundless never refuses. The interval between two events, microseconds, is
// still far above what the script's numbers can tell apart, so that it does
// all of its work.
var boundless = redis_rate.PerHour(1_000_000_000)

// Reserve takes one from the limit of a key.
func (r *RedisRate) Reserve(ctx context.Context, key string) error {
	result, err := r.limiter.Allow(ctx, key, boundless)
	if err != nil {
		return fmt.Errorf("redis_rate: %w", err)
	}
	if result.Allowed != 1 {
		return errors.New("redis_rate: a reservation was refused")
	}
	return nil
}

// Close ends the connections.
func (r *RedisRate) Close() error { return r.client.Close() }
