package github

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// heldGitHub answers in memory. It holds every request for a token until it is
// told what to answer, or the request is given up.
type heldGitHub struct {
	asked   int
	answers chan int // a status
}

func (g *heldGitHub) RoundTrip(r *http.Request) (*http.Response, error) {
	if !isMinting(r) {
		return respond(http.StatusOK, `{"id":1,"login":"octo","created_at":"2020-01-01T00:00:00Z","updated_at":"2020-01-01T00:00:00Z"}`), nil
	}
	g.asked++ // one at a time, which is what is tested
	select {
	case status := <-g.answers:
		return respond(status, fmt.Sprintf(`{"token":"ghs_%d","expires_at":%q}`, g.asked, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func respond(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

func (g *heldGitHub) source(t *testing.T) *Source {
	t.Helper()
	src, err := New(Options{Transport: g})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// start makes calls that are all on their way when it returns.
func start(ctx context.Context, src *Source, credential string, calls int) chan source.Result {
	results := make(chan source.Result, calls)
	call := callOf(jobOf(UserProfile))
	call.Token = credential
	for range calls {
		go func() { results <- src.Call(ctx, call) }()
	}
	synctest.Wait()
	return results
}

func TestWaitingCallsShareWhatComes(t *testing.T) {
	const calls = 100
	credential := testApp().String()
	for status, want := range map[int]source.Verdict{201: source.Done, 502: source.Retry, 404: source.PauseAccount} {
		synctest.Test(t, func(t *testing.T) {
			g := &heldGitHub{answers: make(chan int)}
			results := start(t.Context(), g.source(t), credential, calls)
			g.answers <- status
			failures := map[*domain.Failure]bool{}
			for range calls {
				res := <-results
				if res.Verdict != want || res.Free != (want != source.Done) {
					t.Fatalf("%d: verdict %d, free %t (%v)", status, res.Verdict, res.Free, res.Failure)
				}
				failures[res.Failure] = true
			}
			if want != source.Done && len(failures) != calls {
				t.Errorf("%d: %d failures of their own for %d calls", status, len(failures), calls)
			}
			if g.asked != 1 {
				t.Errorf("%d: asked %d times", status, g.asked)
			}
		})
	}
}

// TestStoppedCallLeavesTheOthersGoing stops the call that asks for a token while
// others wait for it.
func TestStoppedCallLeavesTheOthersGoing(t *testing.T) {
	credential := testApp().String()
	synctest.Test(t, func(t *testing.T) {
		g := &heldGitHub{answers: make(chan int)}
		src := g.source(t)
		ctx, cancel := context.WithCancel(t.Context())
		first := start(ctx, src, credential, 1)
		others := start(t.Context(), src, credential, 10)
		cancel()
		if res := <-first; res.Verdict != source.Wait || !res.Free {
			t.Errorf("the stopped call: verdict %d, free %t", res.Verdict, res.Free)
		}
		g.answers <- http.StatusCreated
		for range 10 {
			if res := <-others; res.Verdict != source.Done {
				t.Errorf("another call: verdict %d (%v)", res.Verdict, res.Failure)
			}
		}
		if g.asked != 2 {
			t.Errorf("asked %d times, want 2", g.asked)
		}
	})
}

// TestStoppedWaiterDoesNotWait stops a call that waits for another's token.
func TestStoppedWaiterDoesNotWait(t *testing.T) {
	credential := testApp().String()
	synctest.Test(t, func(t *testing.T) {
		g := &heldGitHub{answers: make(chan int)}
		src := g.source(t)
		first := start(t.Context(), src, credential, 1)
		ctx, cancel := context.WithCancel(t.Context())
		second := start(ctx, src, credential, 1)
		cancel()
		if res := <-second; res.Verdict != source.Wait || !res.Free {
			t.Errorf("the stopped call: verdict %d, free %t", res.Verdict, res.Free)
		}
		g.answers <- http.StatusCreated
		if res := <-first; res.Verdict != source.Done || g.asked != 1 {
			t.Errorf("the other: verdict %d, asked %d times", res.Verdict, g.asked)
		}
	})
}

// TestRefreshHoldsUpOneCallAlone replaces a token that is still valid: one call
// asks for the new one, all others go on with the old.
func TestRefreshHoldsUpOneCallAlone(t *testing.T) {
	credential := testApp().String()
	synctest.Test(t, func(t *testing.T) {
		g := &heldGitHub{answers: make(chan int)}
		src := g.source(t)
		first := start(t.Context(), src, credential, 1)
		g.answers <- http.StatusCreated
		<-first
		time.Sleep(56 * time.Minute) // the bubble's clock: no time passes
		refreshing := start(t.Context(), src, credential, 1)
		for others := start(t.Context(), src, credential, 20); len(others) > 0; {
			if res := <-others; res.Verdict != source.Done {
				t.Errorf("another call: verdict %d (%v)", res.Verdict, res.Failure)
			}
		}
		if len(refreshing) != 0 || g.asked != 2 {
			t.Fatalf("asked %d times", g.asked)
		}
		g.answers <- http.StatusCreated
		if res := <-refreshing; res.Verdict != source.Done {
			t.Errorf("the refreshing call: verdict %d (%v)", res.Verdict, res.Failure)
		}
	})
}

func TestMintingTimesOut(t *testing.T) {
	credential := testApp().String()
	synctest.Test(t, func(t *testing.T) {
		g := &heldGitHub{answers: make(chan int)}
		res := <-start(t.Context(), g.source(t), credential, 1)
		if res.Verdict != source.Retry || kindOf(res.Failure) != domain.FailureTimeout || !res.Free {
			t.Errorf("verdict %d, free %t (%v)", res.Verdict, res.Free, res.Failure)
		}
	})
}
