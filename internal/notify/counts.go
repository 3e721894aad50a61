package notify

import "context"

// Outcome is what became of an attempt at a message.
type Outcome string

// The outcomes.
const (
	// OutcomeSent is a message that was taken, OutcomeFailed one that is tried
	// again, OutcomeGivenUp one that is not.
	OutcomeSent    Outcome = "sent"
	OutcomeFailed  Outcome = "failed"
	OutcomeGivenUp Outcome = "given_up"
)

// Outcomes are all of them.
func Outcomes() []Outcome { return []Outcome{OutcomeSent, OutcomeFailed, OutcomeGivenUp} }

// outcomeOf is that of an attempt which left a message so.
func outcomeOf(s State) Outcome {
	switch s {
	case Sent:
		return OutcomeSent
	case Dead:
		return OutcomeGivenUp
	case Waiting:
	}
	return OutcomeFailed
}

// TypeGone is in the place of the type of a target that is not set any more.
const TypeGone = "gone"

// Types are the types of targets.
func Types() []string { return []string{TypeWebhook, TypeSlack, TypeEmail} }

func (s *Service) typeOf(target string) string {
	for _, t := range s.targets {
		if t.Name == target {
			return t.Type
		}
	}
	return TypeGone
}

// Counted is how many messages to targets of a type are in a state.
type Counted struct {
	Type  string
	State State
}

// Count counts the messages that wait and those that were given up, by the type of
// their target. Where nobody is to be told, there is nothing to ask for.
func (s *Service) Count(ctx context.Context) (map[Counted]int64, error) {
	all := map[Counted]int64{}
	if !s.Active() {
		return all, nil
	}
	for _, t := range s.targets {
		for _, state := range Left() {
			all[Counted{t.Type, state}] = 0
		}
	}
	counts, err := s.store.Counts(ctx)
	for _, c := range counts {
		all[Counted{s.typeOf(c.Target), c.State}] += c.N
	}
	return all, err
}
