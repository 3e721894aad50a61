package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/internal/httpapi/wire"
)

// TestSnapshotHistory: the command goes through the pages of a service.
func TestSnapshotHistory(t *testing.T) {
	at := time.Date(2026, 10, 16, 1, 2, 3, 0, time.UTC)
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+"?"+r.URL.Query().Get("values")+r.URL.Query().Get("cursor"))
		list := wire.SnapshotHistory{Items: []wire.SnapshotValue{{StoredAt: at, Version: 7, Hash: "abcd", Size: 12345, Value: json.RawMessage("7")}}, NextCursor: "next"}
		if r.URL.Query().Get("cursor") == "next" {
			list = wire.SnapshotHistory{Items: []wire.SnapshotValue{{StoredAt: at.Add(-time.Hour), Version: 6, Hash: "ef", Size: 3}}}
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(list); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	p := newProgram(t, 0)
	out := p.run(exitOK, "snapshot", "history", "basic:x", "--server", server.URL)
	for _, want := range []string{"STORED", "abcd", "12,345", "ef"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q lacks %q", out, want)
		}
	}
	out = p.run(exitOK, "snapshot", "history", "basic:x", "--source", "game", "--values", "--limit", "1", "-o", "json", "--server", server.URL)
	var list wire.SnapshotHistory
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Items) != 1 || string(list.Items[0].Value) != "7" || list.NextCursor != "next" {
		t.Errorf("got %s, %v", out, err)
	}
	if want := "/api/v1/snapshots/maplestory/basic:x/history? /api/v1/snapshots/maplestory/basic:x/history?next /api/v1/snapshots/game/basic:x/history?true"; strings.Join(asked, " ") != want {
		t.Errorf("asked for %q", asked)
	}
	p.run(exitUsage, "snapshot", "history")
	p.says("takes one key")
	p.run(exitUsage, "snapshot", "history", "basic:x", "--values")
	p.says("-o json")
	p.run(exitUsage, "snapshot", "history", "basic:x", "--limit", "-1", "--server", server.URL)
	p.says("--limit is -1")
}
