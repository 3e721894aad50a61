package state

import (
	"fmt"
	"strings"

	"sluice/internal/domain"
)

// LedgerLine accounts for the pages of one resource.
type LedgerLine struct {
	Type     string `json:"type"`
	Resource string `json:"resource"`
	// Announced is how many pages the upstream said there are; 0 if it never did.
	Announced int `json:"announced"`
	// Known counts the pages that were asked for, and what those that wait
	// expect to take. Stored, Failed and Dropped are parts of it.
	Known  int `json:"known"`
	Stored int `json:"stored"`
	Failed int `json:"failed"`
	// Dropped pages were canceled: with their run, or because the upstream has
	// the resource no longer.
	Dropped int `json:"dropped"`
	Items   int `json:"items"`
	// Unknown is how many pages are not stored and may hold something; Because
	// says why.
	Unknown int    `json:"unknown"`
	Because string `json:"because,omitempty"`
}

// Explain sets Unknown and Because from the counts, what a failed page failed
// of, and what one that waits was put off for.
func (l *LedgerLine) Explain(failure, wait string) {
	var because []string
	say := func(n int, what, why string) {
		if n <= 0 {
			return
		}
		text := fmt.Sprintf(what, pages(n))
		if why != "" {
			text += ": " + why
		}
		because, l.Unknown = append(because, text), l.Unknown+n
	}
	l.Unknown = 0
	say(l.Failed, "%s failed", failure)
	say(l.Known-l.Stored-l.Failed-l.Dropped, "%s to come", wait)
	if l.Dropped == 0 {
		// Whoever announces more than there is has moved things in between.
		say(l.Announced-l.Known, "%s less than announced", "")
	}
	l.Because = strings.Join(because, "; ")
}

func pages(n int) string {
	if n == 1 {
		return "1 page"
	}
	return fmt.Sprintf("%d pages", n)
}

// Gap is a resource, or a run, of which something is not known to be stored.
type Gap struct {
	Type     string `json:"type,omitempty"`
	Resource string `json:"resource,omitempty"`
	Because  string `json:"because"`
}

// Gaps lists what keeps a run's copy from being complete. It is empty only if
// that is proven: all of the run's jobs ended, each succeeded or was dropped as
// the upstream has its resource no longer, and no resource has fewer pages than
// were announced.
func Gaps(run domain.Run, ledger []LedgerLine) []Gap {
	var gaps []Gap
	given := run.Status == domain.RunFailed || run.Status == domain.RunCanceled
	for _, l := range ledger {
		because := l.Because
		if l.Unknown == 0 && given && l.Dropped > 0 {
			because = pages(l.Dropped) + " canceled with the run"
		}
		if because != "" {
			gaps = append(gaps, Gap{Type: l.Type, Resource: l.Resource, Because: because})
		}
	}
	if ended := run.Status == domain.RunFinalizing || run.Status == domain.RunCompleted; len(gaps) > 0 || ended && run.Failed == 0 && run.Pending == 0 {
		return gaps
	}
	because := "the run is " + run.Status.String()
	switch {
	case run.Failed > 0:
		because = fmt.Sprintf("%d jobs of the run failed", run.Failed)
	case run.Reason != "":
		because += ": " + run.Reason
	}
	return []Gap{{Because: because}}
}
