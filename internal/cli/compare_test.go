package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/backend/sqlite"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/httpapi"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/state"
	"sluice/internal/wiring"
)

// otherSluice is the other side of a comparison: a service that serves its API.
type otherSluice struct {
	*testing.T
	url     string
	docs    *sqlite.Documents
	account int64
}

// startOther starts one of which an account has a run that made so many calls.
func startOther(t *testing.T, calls int) *otherSluice {
	t.Helper()
	svc, err := wiring.Open(t.Context(), storeOptions(t.TempDir(), "the other side"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = svc.Close(context.WithoutCancel(t.Context())) })
	server := httptest.NewServer(httpapi.New(httpapi.Deps{
		Orchestrator: svc.Engine, Observer: svc.Engine, Reader: svc.State, Quota: svc.Quota,
		Statistics: svc.Statistics, Documents: svc.Documents, Sources: []source.Description{github.Describe()},
	}, httpapi.Options{}))
	t.Cleanup(server.Close)
	other := &otherSluice{T: t, url: server.URL}
	account, err := svc.State.PutAccount(t.Context(), state.AccountSpec{Source: "github", Login: "ann", Name: "o"})
	if err == nil {
		other.account = account.ID
		_, err = svc.State.CreateRun(t.Context(), state.RunSpec{AccountID: account.ID, Trigger: domain.TriggerManual, Priority: domain.PriorityHigh, Anchor: time.Unix(1, 0)})
	}
	if err == nil {
		err = svc.DB.Write(t.Context(), func(c *driver.Conn) error { return sqlite.Exec(c, "UPDATE run SET calls = ? WHERE id > 0", nil, calls) })
	}
	if err == nil {
		other.docs, err = sqlite.NewDocuments(t.Context(), svc.DB, github.Kinds())
	}
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// has gives it commits, as newProgram does.
func (o *otherSluice) has(numbers ...int) {
	o.Helper()
	var docs []document.Document
	for _, i := range numbers {
		docs = append(docs, document.Document{
			Key:     document.Key{Account: o.account, Kind: github.KindCommit, Name: fmt.Sprintf("7:%016x", uint64(i)*0x9E3779B97F4A7C15)},
			Version: time.Unix(1, 0), Fields: document.Fields{Repository: 7, CreatedAt: time.Unix(int64(i), 0)},
		})
	}
	if err := o.docs.Upsert(o.Context(), docs); err != nil {
		o.Fatal(err)
	}
}

// TestCompareWatches compares, waits, and compares again while the other side goes
// on: each round tells counts, of when the newest is and calls, side by side.
func TestCompareWatches(t *testing.T) {
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	began := now
	for _, output := range []string{"text", "json"} {
		t.Run(output, func(t *testing.T) {
			other := startOther(t, 1234)
			other.has(0, 1, 4)
			p := newProgram(t, 3)
			now = began
			p.app.Now = func() time.Time { return now }
			rounds := 0
			p.app.Sleep = func(_ context.Context, d time.Duration) bool {
				now = now.Add(d)
				switch rounds++; rounds {
				case 1: // it collects what it lacked
					other.has(2)
				case 2: // somebody interrupts
					return false
				}
				return true
			}
			// In the end they do not have the same.
			out := p.run(exitFailed, "compare", "github", other.url, "--kind", "commits", "--watch", "5m", "-o", output)
			if output == "json" {
				checkRounds(t, out, began)
				return
			}
			newest := "; the newest is of " + when(time.Unix(2, 0)) + " here, of " + when(time.Unix(4, 0)) + " there\n"
			want := "commits: 3 here, 3 there; 2 the same, 1 missing here, 1 extra here, 0 different" + newest +
				when(began) + " upstream calls: 0 here, 1,234 there\n" +
				"commits: 3 here, 4 there; 3 the same, 1 missing here, 0 extra here, 0 different" + newest +
				when(began.Add(5*time.Minute)) + " upstream calls: 0 here, 1,234 there\n"
			if out != want {
				t.Errorf("it says\n%s\nwant\n%s", out, want)
			}
		})
	}
}

// checkRounds reads what two rounds found.
func checkRounds(t *testing.T, out string, began time.Time) {
	t.Helper()
	decode := json.NewDecoder(strings.NewReader(out))
	for i, want := range []struct{ theirs, same, extra int64 }{{3, 2, 1}, {4, 3, 0}} {
		var round compared
		if err := decode.Decode(&round); err != nil {
			t.Fatalf("round %d: %v in %s", i+1, err, out)
		}
		if len(round.Kinds) != 1 || round.Equal || !round.At.Equal(began.Add(time.Duration(i)*5*time.Minute)) || round.Calls.Ours != 0 || round.Calls.Theirs == nil || *round.Calls.Theirs != 1234 {
			t.Fatalf("round %d found %+v", i+1, round)
		}
		k := round.Kinds[0]
		if k.Ours.Documents != 3 || k.Theirs.Documents != want.theirs || k.Same != want.same || k.Missing != 1 || k.Extra != want.extra ||
			!k.Ours.Newest.Equal(time.Unix(2, 0)) || !k.Theirs.Newest.Equal(time.Unix(4, 0)) {
			t.Errorf("round %d found %+v", i+1, k)
		}
	}
	if decode.More() {
		t.Errorf("there are more rounds in %s", out)
	}
}
