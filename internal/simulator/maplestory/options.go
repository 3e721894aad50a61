package maplestory

import (
	"math/rand/v2"
	"time"
)

// DefaultKey is the API key that is accepted when the options name none.
const DefaultKey = "simulated-api-key"

// Options describes a simulated API. The zero value is usable: a thousand
// characters that never change, with the limits of a service key.
type Options struct {
	Seed       uint64
	Characters int // default 1,000

	// ChangeEvery is how often each part of a character changes, each at an
	// instant of its own; zero keeps everything as it is.
	ChangeEvery time.Duration
	// ChangeRate is the share of characters that change at all, above 0 and up
	// to 1; default 1.
	ChangeRate float64
	// RenewEvery is how often a character gets a new ocid; the old one is then
	// unknown. Zero keeps them.
	RenewEvery time.Duration

	Latency Latency
	Limits  Limits
	// Keys are the API keys that are accepted; each has limits of its own.
	Keys []string
	// BodySize is about how many bytes an item-equipment has; default 300,000.
	// Small ones are much cheaper to serve.
	BodySize int

	// Nasty lets everything go wrong at random; nil lets nothing.
	Nasty *Nasty

	// Now is the simulator's clock; nil means time.Now.
	Now func() time.Time
}

// Limits are what one key may do. Zero means a service key's, negative none.
type Limits struct {
	PerSecond int // in any sliding second, default 500
	PerDay    int // from midnight to midnight in Korea, default 20,000,000
}

// Latency delays every answer by Fixed plus an evenly spread share of Jitter.
type Latency struct{ Fixed, Jitter time.Duration }

func (l Latency) draw() time.Duration {
	if l.Jitter <= 0 {
		return l.Fixed
	}
	return l.Fixed + rand.N(l.Jitter)
}

const defaultBodySize = 300_000

func (o Options) withDefaults() Options {
	setDefault(&o.Characters, 1_000)
	setDefault(&o.BodySize, defaultBodySize)
	setDefault(&o.ChangeRate, 1)
	setDefault(&o.Limits.PerSecond, 500)
	setDefault(&o.Limits.PerDay, 20_000_000)
	if len(o.Keys) == 0 {
		o.Keys = []string{DefaultKey}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func setDefault[T int | float64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}
