package redis

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// Report is what doctor tells people about a Redis.
type Report struct {
	Version string
	// Cluster says that it is one node of several.
	Cluster bool
	// Persistence says what survives a restart, "" if Redis does not tell.
	Persistence string
	// KeepsNothing says that a restart empties it.
	KeepsNothing bool
	// Evicts names the policy by which it drops keys when memory is full; ""
	// if it drops none.
	Evicts string
	// Ahead is how far its clock is ahead of ours.
	Ahead time.Duration
	// Denied is the first thing it does not let us do.
	Denied string
}

// Examine looks at a Redis, changing nothing but a key of its own.
func (d *DB) Examine(ctx context.Context) (Report, error) {
	var r Report
	info, err := d.Client.Do(ctx, d.Client.B().Info().Section("server").Build()).ToString()
	if err != nil {
		return r, failure(err)
	}
	r.Version, r.Cluster = infoField(info, "redis_version"), infoField(info, "redis_mode") == "cluster"
	before := time.Now()
	clock, err := d.Client.Do(ctx, d.Client.B().Time().Build()).AsStrSlice()
	if err != nil {
		return r, failure(err)
	}
	r.Ahead = clockAhead(clock, before, time.Now())
	d.examineSettings(ctx, &r)
	r.Denied = d.denied(ctx)
	return r, nil
}

// infoField returns one line of INFO.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// clockAhead compares a clock that was read between two instants of ours.
func clockAhead(clock []string, before, after time.Time) time.Duration {
	if len(clock) != 2 {
		return 0
	}
	seconds, _ := strconv.ParseInt(clock[0], 10, 64)
	micros, _ := strconv.ParseInt(clock[1], 10, 64)
	there := time.Unix(seconds, micros*1000)
	switch {
	case there.Before(before):
		return there.Sub(before)
	case there.After(after):
		return there.Sub(after)
	}
	return 0
}

// examineSettings asks what a restart leaves. Hosted servers often do not let
// their settings be read; then nothing is said.
func (d *DB) examineSettings(ctx context.Context, r *Report) {
	settings, err := d.Client.Do(ctx, d.Client.B().ConfigGet().Parameter("save", "appendonly", "appendfsync", "maxmemory-policy").Build()).AsStrMap()
	if err != nil || len(settings) == 0 {
		return
	}
	switch {
	case settings["appendonly"] == "yes":
		r.Persistence = "append-only file, fsync " + settings["appendfsync"]
	case settings["save"] != "":
		r.Persistence = "snapshots (save " + settings["save"] + ")"
	default:
		r.Persistence, r.KeepsNothing = "none", true
	}
	if policy := settings["maxmemory-policy"]; policy != "noeviction" {
		r.Evicts = policy
	}
}

// denied tries what the adapters do and returns what is not permitted.
func (d *DB) denied(ctx context.Context) string {
	key := d.Key("doctor")
	b := d.Client.B
	for _, try := range []struct {
		what    string
		command rueidis.Completed
	}{
		{"write keys that begin with {" + d.prefix + "}", b().Set().Key(key).Value("1").PxMilliseconds(1000).Build()},
		{"run scripts", b().Eval().Script("return redis.call('EXISTS', KEYS[1])").Numkeys(1).Key(key).Build()},
		{"publish on a channel", b().Publish().Channel(key).Message("").Build()},
		{"read streams", b().Xlen().Key(d.Key("doctor:stream")).Build()},
		{"delete keys", b().Del().Key(key).Build()},
	} {
		if err := d.Client.Do(ctx, try.command).Error(); err != nil {
			return try.what + ": " + err.Error()
		}
	}
	return ""
}
