package engine

import (
	"sync"
	"time"

	"sluice/internal/quota"
)

const (
	// loanTrialDelay is when to ask a lender again whose first call is under way.
	loanTrialDelay = 250 * time.Millisecond
	// loanRefusedDelay is how long nothing is asked of a lender whose credential was
	// refused: by then whoever still takes its account for active has learnt
	// better.
	loanRefusedDelay = time.Minute
)

// loans knows whose credentials have proven to work when they were lent.
type loans struct {
	mu      sync.Mutex
	byOwner map[string]*loan
}

// loan is what is known of one owner's credential.
type loan struct {
	token  string
	proven bool
	// busy is set while a call with a credential that is not proven is asked for or
	// under way, with this permit.
	busy   bool
	permit uint64
	// barredUntil is until when it is not lent, as it was refused.
	barredUntil time.Time
}

func newLoans() *loans { return &loans{byOwner: map[string]*loan{}} }

// begin tells whether a call may be asked of a lender, and if not, how long to
// leave it alone.
func (l *loans) begin(lender account, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.byOwner[lender.Owner]
	if one == nil || one.token != lender.token {
		one = &loan{token: lender.token}
		l.byOwner[lender.Owner] = one
	}
	switch {
	case now.Before(one.barredUntil):
		return one.barredUntil.Sub(now)
	case one.proven:
		return 0
	case one.busy:
		return loanTrialDelay
	}
	one.busy, one.permit = true, 0
	return 0
}

// granted notes what the lender was asked for.
func (l *loans) granted(owner string, d quota.Decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := l.byOwner[owner]; one != nil && !one.proven {
		one.busy, one.permit = d.Granted, d.Permit.ID
	}
}

// ended notes that a call has ended, and whether it was answered as one with a
// good credential is.
func (l *loans) ended(p quota.Permit, well bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := l.byOwner[p.Owner]; one != nil && one.busy && one.permit == p.ID {
		one.busy, one.proven = false, well
	}
}

// refused bars a credential that the upstream did not accept.
func (l *loans) refused(lender account, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byOwner[lender.Owner] = &loan{token: lender.token, barredUntil: now.Add(loanRefusedDelay)}
}
