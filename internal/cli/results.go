package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/stats"
)

// result is how one account's collection went.
type result struct {
	Login      string           `json:"login"`
	Run        int64            `json:"run"`
	Status     domain.RunStatus `json:"status"`
	Reason     string           `json:"reason,omitempty"`
	Calls      int64            `json:"calls"`
	Documents  int64            `json:"documents"`
	FailedJobs int64            `json:"failed_jobs"`
	// Ledger says whether everything is stored.
	Ledger wire.LedgerSummary `json:"ledger_summary"`
	// Paused is set when the account waits for a person.
	Paused     bool            `json:"paused,omitempty"`
	Statistics json.RawMessage `json:"statistics,omitempty"`
	// Unknown are the parts of the statistics that are too small, as something of
	// them was not collected.
	Unknown []string `json:"unknown,omitempty"`
}

func resultOf(p engine.Progress) result {
	r := result{
		Login: p.Login, Run: p.ID, Status: p.Status, Reason: p.Reason,
		Calls: p.Calls, Documents: p.Documents, FailedJobs: p.Failed,
	}
	if waitsForPerson(p) {
		r.Paused, r.Reason = true, reasons(p)
	}
	return r
}

// summary is what collect and demo print at the end.
type summary struct {
	Accounts  int            `json:"accounts"`
	Runs      map[string]int `json:"runs"`
	Calls     int64          `json:"calls"`
	Documents int64          `json:"documents"`
	Results   []result       `json:"results"`
	// uncounted says that there are no statistics of the source.
	uncounted bool
}

func summarize(order []int64, last map[int64]engine.Progress) summary {
	s := summary{Accounts: len(order), Runs: map[string]int{}}
	for _, id := range order {
		r := resultOf(last[id])
		s.Runs[r.Status.String()]++
		s.Calls += r.Calls
		s.Documents += r.Documents
		s.Results = append(s.Results, r)
	}
	return s
}

// addLedgers learns what is missing of each run.
func (s summary) addLedgers(ctx context.Context, from *session) error {
	for i, r := range s.Results {
		detail, err := from.Run(ctx, r.Run, false)
		if err != nil {
			return err
		}
		s.Results[i].Ledger = detail.LedgerSummary
		s.Results[i].Unknown = s.Results[i].doubts().names()
	}
	return nil
}

// runsText counts the runs by how they ended.
func (s summary) runsText() string {
	parts := make([]string, 0, len(s.Runs))
	for _, status := range slices.Sorted(maps.Keys(s.Runs)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.Runs[status], status))
	}
	return strings.Join(parts, ", ")
}

// exit turns what happened into the error that sets the exit code, and is the last
// line that is printed: every account of which something is missing, with how much.
func (s summary) exit() error {
	var missing []string
	code := exitFailed
	for _, r := range s.Results {
		if text := r.missing(); text != "" {
			missing = append(missing, r.Login+": "+text)
		}
		if r.Paused {
			code = exitUnauthorized
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &exitError{code, fmt.Errorf("INCOMPLETE: %s of %s: %s", count(int64(len(missing))), plural(s.Accounts, "account"), strings.Join(missing, "; "))}
}

// missing says what is not there of an account, and how to learn more; nothing if
// all of it is.
func (r result) missing() string {
	counts := fmt.Sprintf("%s of %s stored", count(int64(r.Ledger.PagesStored)), plural(r.Ledger.PagesKnown, "page"))
	if r.Ledger.PagesKnown == 0 {
		counts = plural(int(r.Documents), "document")
	}
	switch {
	case r.Paused:
		return "paused, " + counts + ": " + r.Reason
	case r.Status != domain.RunCompleted:
		return r.Status.String() + ", " + counts + ": " + r.Reason
	case r.FailedJobs > 0:
		return fmt.Sprintf("%s failed, %s, %s (`sluice job list --run %d --status FAILED` shows them)",
			plural(int(r.FailedJobs), "job"), plural(r.Ledger.Gaps, "gap"), counts, r.Run)
	case r.Ledger.Gaps > 0:
		return fmt.Sprintf("%s, %s (`sluice run show %d --ledger` shows what is missing)", plural(r.Ledger.Gaps, "gap"), counts, r.Run)
	}
	return ""
}

// printResults writes what became of every account, and its statistics.
func (a collectCommand) printResults(sum summary) error {
	for _, r := range sum.Results {
		status := r.Status.String()
		if r.Paused {
			status = "PAUSED"
		}
		say(a.Out, "%s: %s, %s documents with %s calls", r.Login, status, count(r.Documents), count(r.Calls))
		if r.Reason != "" {
			say(a.Out, " (%s)", r.Reason)
		}
		fmt.Fprintln(a.Out)
		if !r.Paused {
			printLedger(a.Out, r.Ledger)
		}
		if sum.uncounted {
			continue
		}
		if r.Statistics == nil {
			say(a.Out, "  %-14s %s: the run did not complete\n", "statistics", unknown)
			continue
		}
		var st stats.Account
		if err := json.Unmarshal(r.Statistics, &st); err != nil {
			return fmt.Errorf("read the statistics of %s: %w", r.Login, err)
		}
		a.printStatistics(st, r.doubts())
	}
	return nil
}

func (a collectCommand) printStatistics(st stats.Account, doubt doubts) {
	line := func(what, format string, args ...any) {
		say(a.Out, "  %-14s "+format+"\n", append([]any{what}, args...)...)
	}
	// What a part of was not collected is not what there is, and nothing is not none.
	fact := func(part string, known int64, format string, args ...any) {
		switch {
		case doubt[part] && known == 0:
			line(part, unknown)
		case doubt[part]:
			line(part, unknown+"; so far "+format, args...)
		default:
			line(part, format, args...)
		}
	}
	fact(ofRepositories, st.Repositories.Owned, "%s owned, %s stars received", count(st.Repositories.Owned), count(st.Repositories.Stars))
	fact(ofCommits, st.Commits.Own, "%s (%s lines added, %s deleted), %s",
		count(st.Commits.Own), count(st.Commits.Additions), count(st.Commits.Deletions), st.ToOthers(st.Commits.ToOthers))
	fact(ofIssues, st.Issues.Opened+st.Issues.Solved, "%s opened, %s solved", count(st.Issues.Opened), count(st.Issues.Solved))
	fact(ofPulls, st.Pulls.Opened, "%s opened, %s merged, %s", count(st.Pulls.Opened), count(st.Pulls.Merged), st.ToOthers(st.Pulls.MergedToOthers))
	if t := st.Teamwork; t != nil && !doubt.any() {
		line("teamwork", "%s reviews given, %s comments, %s releases in its repositories", count(t.ReviewsGiven), count(t.CommentsWritten), count(t.Releases))
	}
	if !st.OthersCollected {
		line("", "?: repositories of others were not collected; --contributed does")
	}
	fact(ofActivity, st.Activity.Total, "%s on %s; longest streak %s", count(st.Activity.Total), plural(int(st.Activity.ActiveDays), "day"), plural(int(st.Activity.Longest.Days), "day"))
	if len(st.Languages) > 0 {
		names := make([]string, 0, 3)
		for _, l := range st.Languages[:min(3, len(st.Languages))] {
			names = append(names, l.Name)
		}
		line("languages", "%s", strings.Join(names, ", "))
	}
	if doubt.any() {
		line("scores", unknown)
		return
	}
	line("scores", "activity %.1f, impact %.1f", st.Scores.Activity, st.Scores.Impact)
}
