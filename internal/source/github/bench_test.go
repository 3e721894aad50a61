package github

import (
	"context"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"sluice/internal/source"

	sim "sluice/internal/simulator/github"
)

func benchWorld(b *testing.B) (w *world, login, repo string) {
	b.Helper()
	w = newWorld(b, sim.Options{Seed: 1, Accounts: 1, Shape: &sim.Shape{
		Repos: sim.Exactly(1), Commits: sim.Exactly(500), Issues: sim.Exactly(500), Pulls: sim.Exactly(100)}})
	login = w.Logins()[0]
	truth := mustTruth(b, w, login, time.Time{})
	return w, login, formatID(truth.Repositories[0].ID)
}

// cpuTime reports what an operation costs in processor time, which a busy
// machine does not distort as it does the wall clock.
func cpuTime(b *testing.B) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start := used()
	return func() { b.ReportMetric(float64(used()-start)/float64(b.N), "cpu-ns/op") }
}

// BenchmarkReadPage understands a page of 100 issues, without the network.
func BenchmarkReadPage(b *testing.B) {
	w, _, repo := benchWorld(b)
	src := w.source(b, Options{})
	in := callOf(jobOf(RepoIssues))
	in.Token = w.Token(w.Logins()[0])
	a, failed := src.fetch(b.Context(), in.Token, request{target: "/repositories/" + repo + "/issues?state=all&per_page=100"})
	if failed != nil || a.status != http.StatusOK {
		b.Fatal(failed)
	}
	op, _ := operationFor(in.Job.JobSpec)
	b.SetBytes(int64(len(a.body)))
	b.ReportAllocs()
	defer cpuTime(b)()
	for b.Loop() {
		c := &call{Call: in, p: params{Repo: &testRepo}}
		if res := src.understand(c, op, a); res.Items != 100 {
			b.Fatal(res.Failure)
		}
	}
}

// BenchmarkCall makes whole calls for a page of 100 issues;
// BenchmarkBareHTTP makes the same ones and discards the answers.
func BenchmarkCall(b *testing.B) {
	w, login, repo := benchWorld(b)
	src := w.source(b, Options{})
	in := callOf(jobOf(RepoIssues))
	in.Token = w.Token(login)
	in.Job.Params = params{Repo: &repoRef{ID: 1}, URL: "/repositories/" + repo + "/issues?state=all&per_page=100"}.spec("", "", "", "").Params
	b.ReportAllocs()
	defer cpuTime(b)()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if res := src.Call(context.Background(), in); res.Verdict != source.Done || res.Items != 100 {
				b.Error(res.Failure)
				return
			}
		}
	})
}

// BenchmarkBareHTTP is what BenchmarkCall is measured against.
func BenchmarkBareHTTP(b *testing.B) {
	w, login, repo := benchWorld(b)
	client := &http.Client{Transport: newTransport()}
	b.ReportAllocs()
	defer cpuTime(b)()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, err := http.NewRequest(http.MethodGet, w.url+"/repositories/"+repo+"/issues?state=all&per_page=100", nil)
			if err != nil {
				b.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+w.Token(login))
			resp, err := client.Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}
