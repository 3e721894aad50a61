package relational_test

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"sync/atomic"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/state"
	"sluice/internal/testkit"
)

// lossy passes bytes on to a server. While it loses, it ends a connection
// instead of passing on the answer to a COMMIT.
type lossy struct {
	server        string
	lose          atomic.Bool
	lost, locking atomic.Int64
}

func startLossy(t *testing.T, server string) (l *lossy, address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	l = &lossy{server: server}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go l.serve(context.WithoutCancel(t.Context()), client)
		}
	}()
	return l, listener.Addr().String()
}

func (l *lossy) serve(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.server)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	var ending atomic.Bool
	go testkit.PassWhile(client, server, func(b []byte) bool {
		if bytes.Contains(b, []byte("FOR UPDATE")) {
			l.locking.Add(1)
		}
		ending.Store(l.lose.Load() && bytes.Contains(b, []byte("COMMIT")))
		return true
	})
	testkit.PassWhile(server, client, func([]byte) bool {
		if ending.Load() {
			l.lost.Add(1)
		}
		return !ending.Load()
	})
}

// TestLostAnswerToTheCommitOfAPlainGroup: the caller is told to repeat the
// call, and then what came of it; everything is counted once.
func TestLostAnswerToTheCommitOfAPlainGroup(t *testing.T) {
	t.Parallel()
	eachServer(t, testLostAnswerToTheCommitOfAPlainGroup)
}

func testLostAnswerToTheCommitOfAPlainGroup(t *testing.T, on server) {
	direct := on.fresh(t)
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	proxy, address := startLossy(t, u.Host)
	u.Host = address
	s := mustOpenState(t, u.String()).State
	refs := planned(t, s, "octocat", 1)
	claim := state.Claim{Job: refs[0].ID}
	locking := proxy.locking.Load()
	proxy.lose.Store(true)
	if err := s.Claim(t.Context(), claim); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("a claim without an answer: %v", err)
	}
	if _, err := s.Finish(t.Context(), success(refs[0], 1)); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("an outcome without an answer: %v", err)
	}
	if proxy.lost.Load() != 2 || proxy.locking.Load() != locking {
		t.Errorf("%d answers were lost; jobs were locked before they were changed %d times", proxy.lost.Load(), proxy.locking.Load()-locking)
	}
	proxy.lose.Store(false)
	if err := s.Claim(t.Context(), claim); domain.CodeOf(err) != domain.CodeStale {
		t.Errorf("the claim again: %v", err)
	}
	e, err := s.Finish(t.Context(), success(refs[0], 1))
	if err != nil || e.Closed == nil {
		t.Errorf("the outcome again: %+v, %v", e, err)
	}
	if run := wantSound(t, s, refs[0].RunID); run.Calls != 1 || run.Succeeded != 1 || run.Documents != 2 {
		t.Errorf("the run says %+v", run.RunCounts)
	}
}
