package declared

import (
	"context"
	"sync"
	"time"

	"sluice/internal/source"
)

// Tokens that an upstream gives for credentials are kept in memory, and nowhere else:
// after a restart each credential gets another one.

// sessions are the tokens of a source, by credential. Its mutex is a leaf.
type sessions struct {
	mu  sync.Mutex
	all map[string]*session
}

// mostSessions is how many are kept before those go that have no token.
const mostSessions = 256

// session is what is known of one credential's tokens. Its mutex is a leaf.
type session struct {
	mu sync.Mutex
	// current is nil before the first, and after one was refused.
	current *token
	// asking is the call that somebody makes for a token; nil if nobody does.
	asking *asking
	// distrust is set when a token was refused before its end. refresh is what the
	// upstream gave last for the next token, where it gives another one each time.
	distrust bool
	refresh  string
}

// token is one that the upstream gave.
type token struct {
	value string
	// until is when another one is asked for; zero if only a refusal tells.
	until time.Time
	// replaces says that the one before was refused, accepted that this one was not.
	replaces, accepted bool
}

// asking is a call for a token that others wait for.
type asking struct {
	done   chan struct{}
	failed *source.Result
}

// of is the session of a credential.
func (s *sessions) of(credential string, now time.Time) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.all[credential]; known != nil {
		return known
	}
	if s.all == nil {
		s.all = map[string]*session{}
	}
	if len(s.all) >= mostSessions {
		for name, one := range s.all {
			if one.idle(now) {
				delete(s.all, name)
			}
		}
	}
	one := &session{}
	s.all[credential] = one
	return one
}

func (s *session) idle(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	// What an upstream gave for the next token is known nowhere else.
	return s.asking == nil && s.refresh == "" && (s.current == nil || !s.current.until.IsZero() && !now.Before(s.current.until))
}

// take returns a token that can be used, or nil and a call for one that the caller has
// to make. It waits for a call that somebody else makes, and failed is what came of it.
func (s *session) take(ctx context.Context, now func() time.Time) (t *token, mine *asking, failed *source.Result) {
	for {
		s.mu.Lock()
		if t := s.current; t != nil && (t.until.IsZero() || now().Before(t.until)) {
			s.mu.Unlock()
			return t, nil, nil
		}
		if s.asking == nil {
			s.asking = &asking{done: make(chan struct{})}
			defer s.mu.Unlock()
			return nil, s.asking, nil
		}
		other := s.asking
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, nil, nil
		case <-other.done:
		}
		if other.failed != nil {
			return nil, nil, other.failed
		}
	}
}

// settle ends a call for a token: with one, with what failed, or, if who asked was
// stopped, with neither, so that somebody else asks.
func (s *session) settle(mine *asking, t *token, refresh string, failed *source.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t != nil {
		t.replaces, s.distrust = s.distrust, false
		s.current = t
		if refresh != "" {
			s.refresh = refresh
		}
	}
	mine.failed, s.asking = failed, nil
	close(mine.done)
}

// accept notes that a token was not refused.
func (s *session) accept(t *token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.accepted = true
}

// refuse takes a token back that the upstream does not accept. It says whether another
// one is worth trying: not if this one stood in for one that was refused, and was never
// accepted itself.
func (s *session) refuse(t *token) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == t {
		s.current, s.distrust = nil, true
	}
	return !t.replaces || t.accepted
}

// next is what a token is asked for with, where the upstream gave something for it.
func (s *session) next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refresh
}
