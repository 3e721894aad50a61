package httpapi_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/client"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
)

// storedEntities has stored values besides.
type storedEntities struct {
	entities
	store *sqlite.Snapshots
}

func (s storedEntities) History(ctx context.Context, q refresh.PastQuery) ([]refresh.PastValue, error) {
	return s.store.PastValues(ctx, q)
}

// history reads all that is stored of an entity in pages.
func (a *archived) history(key string, whole bool, page int) (all []wire.SnapshotValue) {
	a.Helper()
	for p := (client.Page{Limit: page}); ; {
		list, err := a.SnapshotHistory(a.Context(), refresh.Entity{Source: "game", Key: key}, whole, p)
		a.must(err)
		all = append(all, list.Items...)
		if p.Cursor = list.NextCursor; p.Cursor == "" {
			return all
		}
	}
}

// TestHistoryOfASnapshot: what is stored is listed, newest first, and what the archive
// put back as well.
func TestHistoryOfASnapshot(t *testing.T) {
	a := newArchived(t)
	for _, page := range []int{1, 2, 1000} {
		all := a.history("K1", page == 2, page)
		if len(all) != 4 {
			t.Fatalf("in pages of %d there are %d values", page, len(all))
		}
		for i, v := range all {
			text := fmt.Sprintf(`{"level":%d}`, 10*(3-i)+1)
			sum := sha256.Sum256([]byte(text))
			value := ""
			if page == 2 {
				value = text
			}
			if v.Version != int64(4-i) || v.StoredAt.UTC().Format(time.DateOnly) != a.days[3-i] || v.Size != len(text) || v.Hash != hex.EncodeToString(sum[:]) || string(v.Value) != value {
				t.Errorf("the value %d is %+v", i, v)
			}
		}
	}
	_, err := a.RunArchive(t.Context())
	a.must(err)
	if left := a.history("k1", false, 100); len(left) != 1 {
		t.Errorf("after the archive took the others there are %+v", left)
	}
	_, err = a.RestoreArchive(t.Context(), wire.ArchiveRestoreRequest{Source: "game", Key: "k1"})
	a.must(err)
	if back := a.history("k1", true, 100); len(back) != 4 || string(back[3].Value) != `{"level":1}` {
		t.Errorf("what was put back shows as %+v", back)
	}
	if none := a.history("stranger", false, 100); len(none) != 0 {
		t.Errorf("of a stranger there are %+v", none)
	}
}

// TestLongHistories: they come in pages, those with values in smaller ones.
func TestLongHistories(t *testing.T) {
	a := newArchived(t)
	now := time.Now()
	const many = 250
	for i := range many {
		body := fmt.Appendf(nil, `%d`, i)
		r := refresh.Refreshed{Entity: refresh.Entity{Source: "game", Key: "long"}, Version: int64(i + 1), At: now.Add(time.Duration(i/3) * time.Second), Body: body, Hash: sha256.Sum256(body)}
		_, err := a.store.Save(t.Context(), []refresh.Refreshed{r})
		a.must(err)
	}
	for _, whole := range []bool{false, true} {
		for _, page := range []int{99, 100, 101, 249, 250, 1000} {
			all := a.history("long", whole, page)
			for i, v := range all {
				if v.Version != int64(many-i) {
					t.Fatalf("in pages of %d the version %d is in place %d", page, v.Version, i)
				}
			}
			if len(all) != many {
				t.Errorf("in pages of %d there are %d values", page, len(all))
			}
		}
	}
	list, err := a.SnapshotHistory(t.Context(), refresh.Entity{Source: "game", Key: "long"}, true, client.Page{Limit: 1000})
	a.must(err)
	if len(list.Items) != 100 || list.NextCursor == "" {
		t.Errorf("a page with values has %d of them", len(list.Items))
	}
}

func TestHistoryRefuses(t *testing.T) {
	deps := newFake().deps()
	deps.Refreshes = entities{}
	h := httpapi.New(deps, httpapi.Options{})
	for query, says := range map[string]string{
		"k/history?cursor=x": "cursor", "k/history?cursor=5": "cursor", "k/history?cursor=5:x": "cursor", "k/history?cursor=-5:1": "cursor",
		"k/history?cursor=runs:5": "runs", "k/history?limit=0": "limit", "k/history?limit=1001": "limit", "k/history?values=perhaps": "values", "a%20b/history": "no spaces",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/v1/snapshots/game/"+query, nil))
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), says) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}
