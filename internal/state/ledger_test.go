package state_test

import (
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/state"
)

func TestExplain(t *testing.T) {
	for name, tc := range map[string]struct {
		line    state.LedgerLine
		unknown int
		because string
	}{
		"complete":       {state.LedgerLine{Announced: 3, Known: 3, Stored: 3}, 0, ""},
		"never told":     {state.LedgerLine{Known: 2, Stored: 2}, 0, ""},
		"dropped":        {state.LedgerLine{Announced: 9, Known: 3, Stored: 1, Dropped: 2}, 0, ""},
		"one failed":     {state.LedgerLine{Known: 3, Stored: 2, Failed: 1}, 1, "1 page failed: 502"},
		"some wait":      {state.LedgerLine{Known: 5, Stored: 1}, 4, "4 pages to come: partial answer"},
		"both":           {state.LedgerLine{Known: 5, Stored: 1, Failed: 1, Dropped: 1}, 3, "1 page failed: 502; 2 pages to come: partial answer"},
		"less than said": {state.LedgerLine{Announced: 3, Known: 2, Stored: 2}, 1, "1 page less than announced"},
	} {
		tc.line.Explain("502", "partial answer")
		if tc.line.Unknown != tc.unknown || tc.line.Because != tc.because {
			t.Errorf("%s: %d unknown because %q, want %d because %q", name, tc.line.Unknown, tc.line.Because, tc.unknown, tc.because)
		}
	}
}

func TestGaps(t *testing.T) {
	run := func(status domain.RunStatus, counts domain.RunCounts) domain.Run {
		return domain.Run{ID: 1, Status: status, Reason: "why", RunCounts: counts}
	}
	full := state.LedgerLine{Type: "LIST", Resource: "a", Known: 2, Stored: 2}
	dropped := state.LedgerLine{Type: "LIST", Resource: "b", Known: 2, Stored: 1, Dropped: 1}
	unknown := state.LedgerLine{Type: "LIST", Resource: "c", Known: 2, Stored: 1, Unknown: 1, Because: "1 page to come"}
	for name, tc := range map[string]struct {
		run   domain.Run
		lines []state.LedgerLine
		want  []string
	}{
		"proven":                      {run(domain.RunCompleted, domain.RunCounts{}), []state.LedgerLine{full}, nil},
		"statistics are due":          {run(domain.RunFinalizing, domain.RunCounts{}), []state.LedgerLine{full}, nil},
		"a resource that went":        {run(domain.RunCompleted, domain.RunCounts{Canceled: 1}), []state.LedgerLine{full, dropped}, nil},
		"something unknown":           {run(domain.RunCompleted, domain.RunCounts{}), []state.LedgerLine{full, unknown}, []string{"1 page to come"}},
		"canceled with its run":       {run(domain.RunCanceled, domain.RunCounts{}), []state.LedgerLine{dropped}, []string{"1 page canceled with the run"}},
		"nothing planned yet":         {run(domain.RunPlanning, domain.RunCounts{}), nil, []string{"the run is PLANNING: why"}},
		"failed before its first job": {run(domain.RunFailed, domain.RunCounts{}), nil, []string{"the run is FAILED: why"}},
		"all stored so far":           {run(domain.RunRunning, domain.RunCounts{}), []state.LedgerLine{full}, []string{"the run is RUNNING: why"}},
		"a failure without a line":    {run(domain.RunCompleted, domain.RunCounts{Failed: 2}), []state.LedgerLine{full}, []string{"2 jobs of the run failed"}},
	} {
		var got []string
		for _, g := range state.Gaps(tc.run, tc.lines) {
			got = append(got, g.Because)
		}
		if strings.Join(got, "|") != strings.Join(tc.want, "|") {
			t.Errorf("%s: gaps %q, want %q", name, got, tc.want)
		}
	}
}
