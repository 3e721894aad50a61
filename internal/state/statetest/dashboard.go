package statetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// Dashboard fills a store and asks it the queries of a file, which are separated by
// semicolons and each begin with a remark that says what they ask for. The rows
// come back as texts.
func Dashboard(t *testing.T, s state.Store, queries string, ask func(query string) ([][]string, error)) {
	x := newFixture(t, &Instance{Store: s})
	now := time.Now()
	running, refs := x.running("octocat", "a", "b", "c", "d", "e")
	at := func(id int64, began, ended time.Duration, to domain.JobStatus, change func(*state.Outcome)) {
		x.Helper()
		attempt := x.job(id).Attempt
		x.ok(x.Claim(x.Context(), state.Claim{Job: id, Attempt: attempt, At: now.Add(began)}))
		if to == 0 {
			return
		}
		o := state.Outcome{Job: id, Attempt: attempt + 1, At: now.Add(ended), To: to}
		if change != nil {
			change(&o)
		}
		x.finish(o)
	}
	fails := func(o *state.Outcome) {
		o.Failure = &domain.Failure{Kind: domain.FailureServer, Message: "502"}
	}
	at(refs[0].ID, -20*time.Second, -10*time.Second, domain.JobSucceeded, nil)
	at(refs[1].ID, -20*time.Second, -10*time.Second, domain.JobFailed, fails)
	at(refs[2].ID, -time.Hour, 0, 0, nil) // seems to be stuck
	at(refs[3].ID, -20*time.Second, -10*time.Second, domain.JobReady, func(o *state.Outcome) {
		fails(o)
		o.NotBefore = now.Add(time.Hour)
	})
	given := x.created(x.account("hubot").ID)
	_, err := x.FailRun(x.Context(), given.ID, domain.NoStatistics+"out of memory")
	x.ok(err)
	x.ok(x.PlanHarvest(x.Context(), domain.Harvest{AccountID: given.AccountID, After: given.ID, At: now.Add(time.Hour), Priority: domain.PriorityLow, Reason: "its time"}))
	id := func(i int) string { return fmt.Sprint(refs[i].ID) }
	expected := map[string][][]string{
		"runs of the last day by status":       {{"FAILED", "1"}, {"RUNNING", "1"}},
		"jobs of running runs by status":       {{"FAILED", "1"}, {"READY", "2"}, {"RUNNING", "1"}, {"SUCCEEDED", "1"}},
		"types of jobs by how often they fail": {{"LIST", "1", "5", "20"}},
		"jobs that seem to be stuck":           {{id(2), "LIST", "*", "*"}},
		"jobs that wait for their time":        {{id(3), "LIST", "*", "octocat", "another attempt after: server"}},
		"how long jobs take that succeed":      {{"LIST", "10", "10"}},
		"how many attempts jobs take":          {{"1", "2"}},
		"what waits for what":                  {{"a worker", "1"}, {"another attempt after: server", "1"}, {"the upstream", "1"}},
		"accounts that are collected next":     {{"hubot", "*", "LOW", "its time", "its time"}},
		"what failed for good":                 {{"statistics", "STATISTICS", "1"}},
	}
	for text := range strings.SplitSeq(queries, ";\n") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		remark, query, _ := strings.Cut(text[strings.LastIndex(text, "-- ")+3:], "\n")
		rows, err := ask(query)
		x.ok(err)
		if !slices.EqualFunc(rows, expected[remark], alike) {
			x.Errorf("%s: got %v, want %v", remark, rows, expected[remark])
		}
		delete(expected, remark)
	}
	if len(expected) > 0 {
		x.Errorf("nothing asks for %v", expected)
	}
	want(x, "the run", x.run(running.ID).Status, domain.RunRunning)
}

// alike compares a row, in which * is any text, and numbers may have decimals.
func alike(got, want []string) bool {
	return slices.EqualFunc(got, want, func(g, w string) bool {
		return w == "*" && g != "" || g == w || strings.HasPrefix(g, w+".0") || strings.HasPrefix(w, "10") && strings.HasPrefix(g, "9.99")
	})
}
