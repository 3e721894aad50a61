package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/internal/access"
	"sluice/internal/backend/sqlite"
	"sluice/internal/httpapi"
	"sluice/internal/idempotency"
	"sluice/internal/secret"
)

// everyToken is a token of whoever it names.
type everyToken struct{ httpapi.Tokens }

func (everyToken) Any(context.Context) bool { return true }

func (everyToken) Recognise(_ context.Context, secret string) (access.Identity, error) {
	return access.Identity{Actor: access.ActorToken(secret), Role: access.Admin}, nil
}

// TestKeysBelongToTheirCaller: what one has asked for is not told to another, and
// does not stand in his way.
func TestKeysBelongToTheirCaller(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	box, err := secret.NewBox(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	d := newFake().deps()
	d.Keys = idempotency.NewKeeper(sqlite.NewIdempotency(db), box, func() time.Time { return now })
	d.Tokens = everyToken{}
	h := httpapi.New(d, httpapi.Options{})
	post := func(name, body string) (status int, replayed string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/api/v1/refresh", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "k")
		r.Header.Set("Authorization", "Bearer "+name)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Header().Get("Idempotency-Replayed")
	}
	const ann, bob = `{"source":"maplestory","keys":["a"]}`, `{"source":"maplestory","keys":["b"]}`
	for _, step := range []struct {
		name, body string
		status     int
		replayed   string
	}{
		{"ann", ann, http.StatusNotFound, ""}, {"ann", ann, http.StatusNotFound, "true"},
		{"bob", bob, http.StatusNotFound, ""}, {"bob", ann, http.StatusUnprocessableEntity, ""},
	} {
		if status, replayed := post(step.name, step.body); status != step.status || replayed != step.replayed {
			t.Errorf("%s: got %d, replayed %q; want %d, %q", step.name, status, replayed, step.status, step.replayed)
		}
	}
	// A day later it is a request like any other.
	now = now.Add(idempotency.Lifetime)
	if status, replayed := post("bob", ann); status != http.StatusNotFound || replayed != "" {
		t.Errorf("a day later: %d, replayed %q", status, replayed)
	}
}
