package cli

import (
	"maps"
	"slices"
	"strings"

	"sluice/internal/domain"
)

// unknown stands for a number of which something was not collected: what is there
// of it may be any part, and nothing at all looks like none.
const unknown = "unknown"

// The parts of an account's statistics.
const (
	ofRepositories = "repositories"
	ofCommits      = "commits"
	ofIssues       = "issues"
	ofPulls        = "pull requests"
	ofActivity     = "activity"
)

// doubts are the parts of statistics of which something is missing.
type doubts map[string]bool

// doubts of a result are what its ledger has gaps in. It names only the first few
// of them: where there are more, nothing is certain.
func (r result) doubts() doubts {
	d := doubts{}
	if r.Ledger.Gaps == 0 && r.FailedJobs == 0 && r.Status == domain.RunCompleted {
		return d
	}
	if r.Ledger.Gaps != len(r.Ledger.Because) || r.Ledger.Gaps == 0 {
		return d.add(ofRepositories, ofCommits, ofIssues, ofPulls, ofActivity)
	}
	for _, gap := range r.Ledger.Because {
		switch {
		case strings.Contains(gap.Type, "COMMIT"):
			d.add(ofCommits)
		case strings.Contains(gap.Type, "ISSUES"):
			d.add(ofIssues)
		case strings.Contains(gap.Type, "PULLS"):
			d.add(ofPulls)
		case strings.Contains(gap.Type, "EVENTS"), strings.Contains(gap.Type, "PROFILE"):
		default:
			// Without a repository there is nothing of what is in it.
			d.add(ofRepositories, ofCommits, ofIssues, ofPulls)
		}
	}
	return d.add(ofActivity)
}

func (d doubts) add(parts ...string) doubts {
	for _, part := range parts {
		d[part] = true
	}
	return d
}

func (d doubts) any() bool { return len(d) > 0 }

func (d doubts) names() []string { return slices.Sorted(maps.Keys(d)) }
