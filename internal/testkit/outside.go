package testkit

import (
	"context"
	"errors"
)

// Addresses says where the servers are that run outside of tests.
type Addresses struct {
	// MariaDB names an empty database.
	MariaDB, Redis, RedisCluster, Kafka string
}

// Outside starts MariaDB, Redis, a Redis cluster of three masters and Apache
// Kafka for a program that is no test, and stops them when use has returned.
// Nothing stands in for what cannot be had: that is an error.
func Outside(ctx context.Context, use func(Addresses) error) (err error) {
	current.mu.Lock()
	current.running = true
	current.mu.Unlock()
	defer func() { err = errors.Join(err, current.close()) }()
	addresses, err := current.startAll(ctx)
	if err != nil {
		return err
	}
	return use(addresses)
}

func (k *kit) startAll(ctx context.Context) (a Addresses, err error) {
	for _, one := range []struct {
		program func() (program, error)
		started func(port int) error
	}{
		{k.mariadbProgram, func(port int) error {
			a.MariaDB = mariadbURL(port, ownDatabase)
			return createDatabase(ctx, port, ownDatabase)
		}},
		{func() (program, error) { return redisProgram() }, func(port int) error { a.Redis = redisURL(port); return nil }},
		{k.kafkaProgram, func(port int) error { a.Kafka = kafkaURL(port); return nil }},
	} {
		prog, err := one.program()
		if err != nil {
			return a, err
		}
		p, err := k.launch(prog)
		if err != nil {
			return a, err
		}
		if err := one.started(p.port); err != nil {
			return a, err
		}
	}
	a.RedisCluster, err = k.startCluster()
	return a, err
}
