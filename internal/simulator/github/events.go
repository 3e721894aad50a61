package github

import "strconv"

const (
	maxEvents    = 300
	eventsPeriod = 30 * 86400
)

type eventKind int

const (
	eventPush eventKind = iota
	eventIssueOpened
	eventIssueClosed
	eventPullOpened
	eventPullMerged
	eventStarred
	eventKinds
)

// eventRecord is one thing an account did.
type eventRecord struct {
	kind   eventKind
	at     int64
	repo   int64
	number int // the issue or pull request, or the head commit's index
}

// event is a record with its place in the account's history.
type event struct {
	eventRecord
	account, seq int
}

func (e *event) id() string {
	return strconv.FormatInt(30_000_000_000+int64(e.account)*1_000_000+int64(e.seq), 10)
}

func (w *world) baseEvents(a int) int {
	d := draws{derive(w.accountKey(a), kindEvent, 1<<40)}
	if w.repoCount(a) == 0 || w.isOrganization(a) {
		return 0
	}
	return skewed(&d, Between(0, 40), Between(60, 160), Between(200, 300))
}

// eventCount counts what an account did up to an instant.
func (w *world) eventCount(a int, at int64) int {
	n := 0
	for base := w.baseEvents(a); n < base; n++ {
		if at < worldEnd && w.event(a, n).at > at {
			return n
		}
	}
	for _, r := range w.events[a] {
		if r.at <= at {
			n++
		}
	}
	return n
}

// event computes the account's nth event, the oldest being zero.
func (w *world) event(a, n int) event {
	base := w.baseEvents(a)
	if n >= base {
		return event{eventRecord: w.events[a][n-base], account: a, seq: n}
	}
	d := draws{derive(w.accountKey(a), kindEvent, uint64(n))}
	r := w.repo(a, int(d.below(int64(w.repoCount(a)))))
	e := event{account: a, seq: n}
	e.repo = r.id
	e.at = worldEnd - eventsPeriod + int64(n)*eventsPeriod/int64(base)
	e.kind = eventKind(d.below(int64(eventKinds)))
	items := int64(r.baseItems())
	switch {
	case e.kind != eventPush && e.kind != eventStarred && items > 0:
		e.number = int(1 + d.below(items))
	case r.baseCommits > 0:
		e.kind, e.number = eventPush, int(d.below(int64(r.baseCommits)))
	default:
		e.kind = eventStarred
	}
	return e
}
