package redis

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"sluice/internal/refresh"
)

func TestEntryComesBackAsItWas(t *testing.T) {
	entity := refresh.Entity{Source: "maplestory", Key: "basic:abc"}
	at := time.UnixMicro(1_700_000_000_123_456).UTC()
	for name, value := range map[string]refresh.Cached{
		"nothing": {},
		"a snapshot": {Found: true, Snapshot: refresh.Snapshot{
			Entity: entity, Body: bytes.Repeat([]byte{'"', 0, 0xff}, 10_000), Hash: refresh.Hash{1, 2, 255}, Version: 7,
			CheckedAt: at, UpdatedAt: at.Add(-time.Hour), Tier: refresh.Hot,
		}},
		"a status": {Status: &refresh.Status{Entity: entity, Code: refresh.StatusFailed, Tries: 3, Error: "no", At: at}},
	} {
		text, err := encodeEntry(value)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := decodeEntry(text); !ok || !reflect.DeepEqual(got, value) {
			t.Errorf("%s came back as %+v, %v", name, got, ok)
		}
		for _, cut := range []int{0, 1, entryHeadSize - 1, entryHeadSize + 3} {
			if got, ok := decodeEntry(text[:cut]); ok {
				t.Errorf("%s, cut off after %d bytes, was taken for %+v", name, cut, got)
			}
		}
	}
	for _, text := range []string{"", changedMark(time.Time{}), changedMark(at), "{}", "+\xff\xff\xff\xff{}"} {
		if got, ok := decodeEntry([]byte(text)); ok {
			t.Errorf("%q was taken for %+v", text, got)
		}
	}
}
