package declared_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/ration/keeper"
	"sluice/internal/source"
	"sluice/internal/source/declared"
)

const priced = `
source: api
config: {url: https://api.example}
base: "{config.url}"
auth: bearer
ration:
  points: {per: key, unit: points, calls: 1000, every: 1m, shape: bucket, cost: 10, actual: {body: cost.actual},
           read: {remaining: {body: cost.left}, refill: {body: cost.refill}}}
  bytes: {per: key, unit: bytes, calls: 100000, every: 1h}
  calls: {per: key, calls: 100, every: 1m, low: 50%}
streams:
  items: {get: /items, page: {type: page, param: page, size: {n: 1}}, records: data, key: id}
  notes: {get: /notes, records: data, key: id}
`

// TestCostOfCalls: what a call is thought to take is asked for, and what its answer
// tells is settled, and thought of the next one of its stream.
func TestCostOfCalls(t *testing.T) {
	cost := 4
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"data":[],"cost":{"actual":%d,"left":900,"refill":50}}`, cost)
	}))
	t.Cleanup(server.Close)
	src, err := declared.New(load(t, priced), declared.Options{Config: map[string]string{"url": server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	run := domain.Run{ID: 1, AccountID: 7, Login: "acme"}
	jobs, err := src.Plan(run)
	if err != nil {
		t.Fatal(err)
	}
	costs := func(job domain.JobSpec) (points, bytes, calls int) {
		ask, err := src.Ask(job, "acme")
		if err != nil || len(ask.Drawn.Draws) != 3 {
			t.Fatalf("%+v, %v", ask, err)
		}
		d := ask.Drawn.Draws
		return d[0].Cost, d[1].Cost, d[2].Cost
	}
	want := func(job domain.JobSpec, points, bytes int) {
		t.Helper()
		if p, b, c := costs(job); p != points || b != bytes || c != 1 {
			t.Errorf("it asks for %d points, %d bytes, %d calls; want %d and %d", p, b, c, points, bytes)
		}
	}
	want(jobs[0], 10, 1)
	call := func(points int) {
		t.Helper()
		cost = points
		res := src.Call(t.Context(), source.Call{Run: run, Job: domain.Job{JobSpec: jobs[0]}, Token: "secret-token"})
		told := res.Quota.Told
		if res.Verdict != source.Done || len(told) != 3 {
			t.Fatalf("%+v", res)
		}
		size := len(fmt.Sprintf(`{"data":[],"cost":{"actual":%d,"left":900,"refill":50}}`, points))
		if told[0].Cost != points || told[0].Free != (points == 0) || told[0].Left != 900 || told[0].Refill != 50 || told[1].Cost != size || told[2].Cost != 0 {
			t.Errorf("a call of %d points tells %+v", points, told)
		}
	}
	call(4)
	want(jobs[0], 10, 54)
	call(120)
	want(jobs[0], 120, 56)
	call(0)
	want(jobs[0], 60, 55)
	want(jobs[1], 10, 1)
}

// TestRefusedCredentialsTellNothing: what the headers of a 401 say is about the ration
// of callers without a credential. The call counts all the same.
func TestRefusedCredentialsTellNothing(t *testing.T) {
	status := http.StatusUnauthorized
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Limit", "60")
		w.Header().Set("X-Left", "59")
		w.WriteHeader(status)
		fmt.Fprint(w, `{"data":[]}`)
	}))
	t.Cleanup(server.Close)
	src, err := declared.New(load(t, `
source: api
config: {url: https://api.example}
base: "{config.url}"
auth: bearer
ration:
  hour: {per: key, calls: 5000, every: 1h, read: {limit: X-Limit, remaining: X-Left}}
streams:
  items: {get: /items, records: data, key: id}
`), declared.Options{Config: map[string]string{"url": server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	run := domain.Run{ID: 1, AccountID: 7, Login: "acme"}
	jobs, err := src.Plan(run)
	if err != nil {
		t.Fatal(err)
	}
	told := func() keeper.Answer {
		t.Helper()
		res := src.Call(t.Context(), source.Call{Run: run, Job: domain.Job{JobSpec: jobs[0]}, Token: "secret-token"})
		if len(res.Quota.Told) != 1 {
			t.Fatalf("it tells %+v", res.Quota)
		}
		return res.Quota.Told[0]
	}
	if a := told(); a.Limit != 0 || a.HasLeft || a.Free {
		t.Errorf("a 401 tells %+v", a)
	}
	status = http.StatusOK
	if a := told(); !a.HasLeft || a.Left != 59 {
		t.Errorf("an answer tells %+v", a)
	}
}
