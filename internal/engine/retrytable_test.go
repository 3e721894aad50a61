package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/source"
	"sluice/internal/testkit"
)

// retryRow is what a row of the retry table means for a job that always fails
// and whose source would have it tried again.
type retryRow struct {
	// calls is how many are made before the job is given up.
	calls int
	// resumed is whether a harvest tries the job again.
	resumed bool
}

// mostTries is the default of engine.Config.MaxAttempts.
const mostTries = 5

var retryRows = map[domain.FailureKind]retryRow{
	domain.FailureConnection:  {mostTries, true},
	domain.FailureTimeout:     {mostTries, true},
	domain.FailureServer:      {mostTries, true},
	domain.FailureMalformed:   {mostTries, true},
	domain.FailureRateLimited: {mostTries, true},
	domain.FailureLost:        {1, true},
	domain.FailureNotFound:    {1, false},
	domain.FailureGone:        {1, false},
	domain.FailureForbidden:   {1, false},
	domain.FailureInvalid:     {1, false},
	domain.FailureCredential:  {mostTries, false},
}

// TestRetryTable: row by row.
func TestRetryTable(t *testing.T) {
	t.Parallel()
	for kind, row := range retryRows {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) { wantRow(t, kind, source.Retry, row) })
		})
		// A source that says that it is pointless is believed for this run; a
		// later harvest goes by the kind.
		t.Run(string(kind)+" that is pointless", func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) { wantRow(t, kind, source.Fail, retryRow{1, row.resumed}) })
		})
	}
}

func wantRow(t *testing.T, kind domain.FailureKind, verdict source.Verdict, row retryRow) {
	t.Helper()
	f := newField(2, 1000)
	f.fails = func(c source.Call) *source.Result {
		if c.Job.Resource == "item:0" {
			return nil
		}
		return &source.Result{Verdict: verdict, Failure: &domain.Failure{Kind: kind, Message: "no"}}
	}
	s := started(t, f, harvesting(t, `{"spread":"0s"}`, 1000))
	c := s.signs("octocat", "secret")
	run := s.wait(c.run)
	s.wantCompleted(run, 1)
	wantBackoff(t, f.seen(func(one called) bool { return one.item == "item:1" }), row.calls)
	job := s.jobs(run, domain.JobFailed)[0]
	counted := row.calls
	if verdict == source.Fail {
		counted = 0
	}
	if job.ErrorKind != kind || job.Failures != counted || job.Attempt != int64(row.calls) {
		t.Errorf("the job is %+v, want %d failures", job, counted)
	}
	h := s.plans(c.account)
	if resumed := h.Resume == run.ID; resumed != row.resumed {
		t.Errorf("planned is %+v", h)
	}
	if !row.resumed {
		return
	}
	pass(time.Until(h.At.Add(time.Minute)))
	if n := len(f.seen(func(one called) bool { return one.item == "item:1" })); n != 2*row.calls {
		t.Errorf("%d calls after a resumption, want %d", n, 2*row.calls)
	}
	if n := len(f.seen(func(one called) bool { return one.item == "item:0" })); n != 1 {
		t.Errorf("the job that had succeeded was called %d times", n)
	}
}

// wantBackoff checks how many calls were made and that the delays between them
// double from one second, each jittered over its upper half.
func wantBackoff(t *testing.T, calls []called, want int) {
	t.Helper()
	if len(calls) != want {
		t.Errorf("%d calls, want %d", len(calls), want)
	}
	for i := 1; i < len(calls); i++ {
		full := time.Second << (i - 1)
		wantWithin(t, "a delay", calls[i].at.Sub(calls[i-1].at), full/2, full+10*time.Millisecond)
	}
}

// TestUnreachableUpstream: a call that never left costs no attempt, however
// often it is tried, and its whole lane waits, a minute at most.
func TestUnreachableUpstream(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		f := newField(3, 1000)
		began := time.Now()
		const outage = 30 * time.Minute
		f.fails = func(source.Call) *source.Result {
			if time.Since(began) > outage {
				return nil
			}
			return &source.Result{Verdict: source.Retry, Free: true, Failure: &domain.Failure{Kind: domain.FailureConnection, Message: "no network"}}
		}
		s := started(t, f, harvesting(t, `{"spread":"0s"}`, 1000))
		c := s.signs("octocat", "secret")
		pass(outage / 2)
		owner := s.reread(c.account).Owner
		if wait, ok := s.svc.Engine.Waits()[dispatch.Lane(owner, "core")]; !ok || wait.Reason != "no network" {
			t.Errorf("the waits are %+v", s.svc.Engine.Waits())
		}
		run := s.wait(c.run)
		s.wantCompleted(run, 0)
		wantWithin(t, "the run", run.FinishedAt.Sub(began), outage, outage+time.Minute)
		for _, job := range s.jobs(run) {
			if job.Failures != 0 {
				t.Errorf("job %d counts %d failures", job.ID, job.Failures)
			}
		}
		// Three jobs wait together: a call or so a minute, not one each.
		if n := len(f.seen(nil)); n < 30 || n > 3*70 {
			t.Errorf("%d calls were tried in half an hour", n)
		}
	})
}

// TestVerdictsComeFirst: what a source says about an answer comes before the
// table, whatever the kind.
func TestVerdictsComeFirst(t *testing.T) {
	t.Parallel()
	for kind := range retryRows {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				verdict := source.Wait
				f := newField(2, 1000)
				f.fails = func(c source.Call) *source.Result {
					if c.Job.Resource == "item:0" || len(f.calls) > 20 && verdict == source.Wait {
						return nil
					}
					return &source.Result{Verdict: verdict, RetryAfter: time.Minute, Failure: &domain.Failure{Kind: kind, Message: "the reason"}}
				}
				s := started(t, f, harvesting(t, `{"spread":"0s"}`, 1000))
				waits := s.signs("waits", "one")
				run := s.wait(waits.run)
				s.wantCompleted(run, 0)
				wantWithin(t, "waiting", run.FinishedAt.Sub(run.CreatedAt), 15*time.Minute, 25*time.Minute)
				for _, job := range s.jobs(run) {
					if job.Failures != 0 {
						t.Errorf("a wait counted as failure: %+v", job)
					}
				}
				if err := s.svc.Engine.DeleteAccount(t.Context(), waits.account.ID); err != nil {
					t.Fatal(err)
				}
				verdict = source.FailRun
				failed := s.signs("fails", "two")
				if run := s.wait(failed.run); run.Status != domain.RunFailed || run.Reason != "the reason" {
					t.Errorf("the run is %+v", run)
				}
				if h := s.plans(failed.account); (h.Resume == failed.run.ID) != retryRows[kind].resumed {
					t.Errorf("planned is %+v", h)
				}
				verdict = source.PauseAccount
				paused := s.signs("paused", "three")
				pass(time.Duration(testkit.Effort(3, 24)) * time.Hour)
				if a := s.reread(paused.account); a.State != domain.AccountPaused || a.Reason != "the reason" || len(s.allRuns(a)) != 1 {
					t.Errorf("the account is %+v with %d runs", a, len(s.allRuns(a)))
				}
			})
		})
	}
}

// TestEveryKindHasARow: in the table of the engine, in the test's and in the
// document for people, and in none of them is another.
func TestEveryKindHasARow(t *testing.T) {
	t.Parallel()
	kinds, names := kindsOfDomain(t)
	if len(kinds) < 11 {
		t.Fatalf("only %d kinds were found", len(kinds))
	}
	var tested []string
	for kind := range retryRows {
		tested = append(tested, string(kind))
	}
	slices.Sort(tested)
	if !slices.Equal(tested, kinds) {
		t.Errorf("the test has rows for %v, the domain has %v", tested, kinds)
	}
	if table := kindsOfTable(t, names); !slices.Equal(table, kinds) {
		t.Errorf("the engine has rows for %v, the domain has %v", table, kinds)
	}
	text, err := os.ReadFile("../../docs/retries.md")
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 8 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		kind := strings.Trim(cells[1], " `")
		shown = append(shown, kind)
		row := retryRows[domain.FailureKind(kind)]
		if yes := strings.HasPrefix(strings.TrimSpace(cells[6]), "yes"); yes != row.resumed {
			t.Errorf("the document says of %s and a later harvest: %s", kind, cells[6])
		}
		if again := strings.Contains(cells[3], "tried again"); again != (row.calls > 1) {
			t.Errorf("the document says of %s and its job: %s", kind, cells[3])
		}
	}
	slices.Sort(shown)
	if !slices.Equal(shown, kinds) {
		t.Errorf("the document has rows for %v, the domain has %v", shown, kinds)
	}
}

// kindsOfDomain reads the kinds of failures from the source, and by which names
// they go.
func kindsOfDomain(t *testing.T) (kinds []string, byName map[string]string) {
	t.Helper()
	byName = map[string]string{}
	ast.Inspect(parsed(t, "../domain/errors.go"), func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); !ok || of.Name != "FailureKind" {
			return false
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			t.Fatalf("%s is no literal", spec.Names[0])
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		if value != string(domain.FailureNone) {
			kinds, byName[spec.Names[0].Name] = append(kinds, value), value
		}
		return false
	})
	slices.Sort(kinds)
	return kinds, byName
}

// kindsOfTable reads for which kinds the engine's table has a row.
func kindsOfTable(t *testing.T, byName map[string]string) (kinds []string) {
	t.Helper()
	ast.Inspect(parsed(t, "policy.go"), func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "retryTable" {
			return true
		}
		table, ok := spec.Values[0].(*ast.CompositeLit)
		if !ok {
			t.Fatal("the table is no literal")
		}
		for _, row := range table.Elts {
			if pair, ok := row.(*ast.KeyValueExpr); ok {
				if key, ok := pair.Key.(*ast.SelectorExpr); ok {
					kinds = append(kinds, byName[key.Sel.Name])
				}
			}
		}
		return false
	})
	slices.Sort(kinds)
	return kinds
}

func parsed(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
