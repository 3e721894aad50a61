package refresh_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"sluice/internal/refresh"
)

// TestAnswerInJSON: the quick way and that of encoding/json say the same.
func TestAnswerInJSON(t *testing.T) {
	wait := int64(1500)
	for name, a := range map[string]refresh.Answer{
		"nothing": {Entity: entity("stat:1"), Freshness: refresh.NotFound, Snapshot: json.RawMessage("null")},
		"no text": {Entity: entity("stat:1"), Freshness: refresh.Updating, UpdateQueued: true, EstimatedWaitMs: &wait},
		"fresh": {
			Entity: entity(`id:메"이\플`), Snapshot: json.RawMessage(`{"snapshot":{"a":[1,2,"}"]},"b":null}`), Freshness: refresh.Fresh,
			LastUpdatedAt: time.Unix(1, 2000).UTC(), LastCheckedAt: time.Unix(2, 0).UTC(), ETag: `"abc"`,
		},
		"failed": {
			Entity: entity("stat:1"), Snapshot: json.RawMessage(`[]`), Freshness: refresh.Stale,
			Status: &refresh.Status{Entity: entity("stat:1"), Code: refresh.StatusFailed, Tries: 3, Error: "<no>", At: time.Unix(3, 0).UTC()},
		},
	} {
		var quick bytes.Buffer
		if err := a.WriteJSON(&quick); err != nil {
			t.Fatal(err)
		}
		slow, err := json.Marshal(&a)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := json.Unmarshal(quick.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v in %s", name, err, &quick)
		}
		if err := json.Unmarshal(slow, &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s, want %s", name, &quick, slow)
		}
	}
}
