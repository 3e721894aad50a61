package testkit_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/testkit"
)

func TestAServersClockCanBeSet(t *testing.T) {
	server, clock := testkit.StartRedisWithClock(t)
	option, err := rueidis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	option.DisableCache, option.ForceSingleClient = true, true
	c, err := rueidis.NewClient(option)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, ahead := range []time.Duration{0, 2 * time.Hour, -30 * time.Minute} {
		clock.Set(ahead)
		before := time.Now().Add(ahead)
		said, err := c.Do(t.Context(), c.B().Time().Build()).AsStrSlice()
		after := time.Now().Add(ahead)
		if err != nil {
			t.Fatal(err)
		}
		seconds, err := strconv.ParseInt(said[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if now := time.Unix(seconds, 0); now.Before(before.Truncate(time.Second)) || now.After(after) {
			t.Errorf("set to %v ahead, the server says %v; it is between %v and %v", ahead, now, before, after)
		}
	}
}
