package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/domain"
	"sluice/internal/httpapi"
	"sluice/internal/idempotency"
	"sluice/internal/secret"
	"sluice/internal/testkit/faulty"
)

// canceler counts what is carried out.
type canceler struct {
	*fake
	done int
	// fails is how many of the next fail, without an effect.
	fails int
}

// CancelRun implements httpapi.RunKeeper.
func (c *canceler) CancelRun(context.Context, int64, string) (domain.Run, error) {
	if c.fails > 0 {
		c.fails--
		return domain.Run{}, domain.Errorf(domain.CodeUnavailable, "the store is away")
	}
	c.done++
	return domain.Run{ID: 1, Status: domain.RunCanceled}, nil
}

// keyed is the API on a store of keys that fails by plan; in a bubble.
type keyed struct {
	*testing.T
	*faulty.Plan
	canceler *canceler
	handler  http.Handler
}

func newKeyed(t *testing.T) *keyed {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	box, err := secret.NewBox(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	k := &keyed{T: t, Plan: faulty.NewPlan(), canceler: &canceler{fake: newFake()}}
	d := k.canceler.deps()
	d.Orchestrator = k.canceler
	d.Keys = idempotency.NewKeeper(faulty.NewKeys(sqlite.NewIdempotency(db), k.Plan), box, nil)
	k.handler = httpapi.New(d, httpapi.Options{})
	return k
}

// send sends the one request of the test.
func (k *keyed) send() *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/api/v1/runs/1/cancel", strings.NewReader(`{}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", "k-1")
	w := httptest.NewRecorder()
	k.handler.ServeHTTP(w, r)
	return w
}

// TestLostAnswersOfTheStoreOfKeys loses the answer to each call of the store of
// keys, or the call itself. Whoever sends the request until it is answered has it
// carried out once, and gets the same answer from then on.
func TestLostAnswersOfTheStoreOfKeys(t *testing.T) {
	for _, method := range []string{"Claim", "Finish", "Release", "Prune"} {
		for name, plan := range map[string]func(*faulty.Plan, string, int){"before": (*faulty.Plan).FailBefore, "after": (*faulty.Plan).FailAfter} {
			t.Run(method+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					k := newKeyed(t)
					plan(k.Plan, method, 1)
					if method == "Release" {
						k.canceler.fails = 1
					}
					began, sent := time.Now(), 1
					w := k.send()
					for ; w.Code >= http.StatusInternalServerError && sent < 3; sent++ {
						w = k.send()
					}
					if w.Code != http.StatusOK || k.canceler.done != 1 || k.Unmet() != 0 {
						t.Fatalf("sent %d times: %d %s, carried out %d times; %d faults were not met", sent, w.Code, w.Body, k.canceler.done, k.Unmet())
					}
					if took := time.Since(began); took > time.Second {
						t.Errorf("it took %v", took)
					}
					again := k.send()
					if again.Code != w.Code || again.Body.String() != w.Body.String() || again.Header().Get("Idempotency-Replayed") != "true" || k.canceler.done != 1 {
						t.Errorf("again: %d %s, carried out %d times", again.Code, again.Body, k.canceler.done)
					}
				})
			})
		}
	}
}

// TestAnAnswerThatCannotBeKept: the store is away from when a request is carried
// out until its patience ends. It is answered nevertheless; sent again it is
// refused, and after two minutes carried out again, as the documentation says.
func TestAnAnswerThatCannotBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeyed(t)
		k.FailBefore("Finish", -1)
		began := time.Now()
		if w := k.send(); w.Code != http.StatusOK || k.canceler.done != 1 {
			t.Fatalf("got %d %s, carried out %d times", w.Code, w.Body, k.canceler.done)
		}
		if took := time.Since(began); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("it was tried for %v", took)
		}
		k.Heal()
		if w := k.send(); w.Code != http.StatusConflict || k.canceler.done != 1 {
			t.Errorf("at once: %d %s, carried out %d times", w.Code, w.Body, k.canceler.done)
		}
		time.Sleep(idempotency.Patience)
		if w := k.send(); w.Code != http.StatusOK || k.canceler.done != 2 {
			t.Errorf("later: %d %s, carried out %d times", w.Code, w.Body, k.canceler.done)
		}
	})
}
