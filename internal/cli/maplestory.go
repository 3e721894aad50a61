package cli

import (
	"time"

	"github.com/spf13/pflag"
)

// MapleStory is the game API whose characters are kept fresh.
type MapleStory struct {
	URL string
	// Key is the API key; without one there are no snapshots.
	Key string
	// PerSecond and PerDay are what the key allows; Reserve is what of a day is
	// kept for readers.
	PerSecond       int
	PerDay, Reserve int64
	// FreshFor is how long a snapshot counts as fresh.
	FreshFor time.Duration
	// Prefetch is how many refreshes a second are made before anybody asks;
	// negative is what the hour of day suggests, 0 none.
	Prefetch int
	// Kafka names brokers to carry the requests; "" is Redis, or the embedded
	// database.
	Kafka string
	// Archive is a folder or a bucket for old values; "" keeps them.
	Archive string
}

// The service level of the game API.
const (
	mapleStoryPerSecond = 500
	mapleStoryPerDay    = 20_000_000
	mapleStoryReserve   = 2_000_000
)

func (m *MapleStory) register(f *pflag.FlagSet) {
	f.StringVar(&m.URL, "maplestory-url", "https://open.api.nexon.com", "the MapleStory API")
	f.StringVar(&m.Key, "maplestory-key", "", "its API key, as @FILE; or set SLUICE_MAPLESTORY_KEY; without one there are no snapshots")
	f.IntVar(&m.PerSecond, "maplestory-per-second", mapleStoryPerSecond, "calls that the key allows in any second; a tenth of them is never used")
	f.Int64Var(&m.PerDay, "maplestory-per-day", mapleStoryPerDay, "calls that the key allows in a day")
	f.Int64Var(&m.Reserve, "maplestory-reserve", mapleStoryReserve, "calls of a day that are kept for readers")
	f.DurationVar(&m.FreshFor, "fresh-for", time.Hour, "how long a snapshot counts as fresh")
	f.IntVar(&m.Prefetch, "prefetch", -1, "refreshes a second before anybody asks; 0 is none, -1 what suits the hour of day")
	f.StringVar(&m.Archive, "archive", "", "folder or bucket (s3://NAME, gs://NAME, azblob://NAME) for values of snapshots that are older than 30 days; by default they stay in the store")
	f.StringVar(&m.Kafka, "kafka", "", "HOST:PORT,…: carry refresh requests through Kafka instead of Redis or the embedded database")
}

// check refuses what cannot be.
func (m *MapleStory) check() error {
	switch {
	case m.PerSecond < 2:
		return usage("--maplestory-per-second is %d; it must be at least 2", m.PerSecond)
	case m.PerDay < 1:
		return usage("--maplestory-per-day is %d; it must be at least 1", m.PerDay)
	case m.Reserve < 0 || m.Reserve >= m.PerDay:
		return usage("--maplestory-reserve is %d; it must be less than --maplestory-per-day, which is %d", m.Reserve, m.PerDay)
	case m.FreshFor < time.Second:
		return usage("--fresh-for is %s; it must be at least 1s", m.FreshFor)
	}
	return nil
}
