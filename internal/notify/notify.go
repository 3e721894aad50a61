// Package notify tells people what they should hear of without looking: an
// account was paused, a run failed or is incomplete, something was given up for
// good, a part is left alone because it fails, a ration is used up to what its
// owner keeps.
//
// What happened is read from the tables that say so (accounts, runs, dead
// letters), so that a process which dies tells nothing less: whoever looks next
// finds it. What stands in no table (a breaker, a ration) is handed in. Either is
// recorded once, by its key, in messages that gather what is of one kind, and a
// message is sent by the process that has claimed it. Who dies between claiming
// and sending leaves a claim that runs out: the message is sent again, under the
// same id.
//
//   - notify.go: kinds and events.
//   - message.go: messages, and the rules of what becomes of them.
//   - store.go: the port; its suite is in notifytest. changes.go: what stores have in
//     common.
//   - targets.go: who is told, as it is set.
//   - service.go, gather.go: the work in the background, which nobody waits for.
//   - compose.go: what is said; send.go, email.go: how it is brought.
package notify

import (
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
)

// Kind is what an event is about.
type Kind string

// The kinds.
const (
	// AccountPaused is an account that is not collected until somebody acts.
	AccountPaused Kind = "account_paused"
	// RunFailed is a run that collected nothing, RunIncomplete one of which some
	// jobs failed.
	RunFailed     Kind = "run_failed"
	RunIncomplete Kind = "run_incomplete"
	// DeadLetters are refreshes, and deliveries of timers, that were given up.
	DeadLetters Kind = "dead_letters"
	// BreakerOpen is a part that failed too often and is left alone.
	BreakerOpen Kind = "breaker_open"
	// QuotaFloor is a ration of which only what its owner keeps is left.
	QuotaFloor Kind = "quota_floor"
	// Test is what somebody sends to see that it arrives.
	Test Kind = "test"
)

// Kinds are those that a target can ask for.
func Kinds() []Kind {
	return []Kind{AccountPaused, RunFailed, RunIncomplete, DeadLetters, BreakerOpen, QuotaFloor}
}

func checkKind(k Kind) error {
	if slices.Contains(Kinds(), k) {
		return nil
	}
	names := make([]string, len(Kinds()))
	for i, one := range Kinds() {
		names[i] = string(one)
	}
	return domain.Errorf(domain.CodeInvalid, "there is no kind of notification %q; choose from %s", k, strings.Join(names, ", "))
}

// Event is one thing that happened.
type Event struct {
	// Key names it: what has the same key is the same event, whoever tells of it.
	Key  string    `json:"key"`
	Kind Kind      `json:"kind"`
	At   time.Time `json:"at"`
	// Source and Login say whose account it is about; Run is 0 and Login "" where
	// it is about none.
	Source string `json:"source,omitempty"`
	Login  string `json:"login,omitempty"`
	Run    int64  `json:"run,omitempty"`
	// Text says what happened, in words for people.
	Text string `json:"text"`
}

// maxText bounds what is kept of a text, parts of which may be an upstream's.
const maxText = 300

// clip keeps the beginning of a text, on one line.
func clip(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText]) + "…"
	}
	return text
}
