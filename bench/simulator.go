package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/bench/report"
	sim "sluice/internal/simulator/github"
)

const simulatorWorkers = 16

// simulator measures the simulated GitHub with a client in the same process,
// beside the same client against a handler that does nothing.
func simulator(ctx context.Context, l *lab) error {
	world := sim.New(sim.Options{
		Seed: 3, Accounts: 20, Limits: sim.Limits{Disabled: true},
		Shape: &sim.Shape{Repos: sim.Exactly(4), Commits: sim.Exactly(400), Issues: sim.Exactly(300), Pulls: sim.Exactly(100)},
	})
	server := httptest.NewServer(world)
	defer server.Close()
	nothing := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer nothing.Close()
	login := world.Logins()[0]
	repo := world.Repos(login)[0]
	path := "/repos/" + repo.Owner + "/" + repo.Name
	header := http.Header{"Authorization": {"token " + world.Token(login)}, "User-Agent": {"bench"}}
	get := func(base, tail string) recorded {
		return recorded{method: http.MethodGet, url: base + tail, header: header}
	}
	history := fmt.Appendf(nil, `{"query":%q,"variables":{"o":%q,"n":%q}}`, historyQuery, repo.Owner, repo.Name)
	span := time.Duration(l.size(3000, 300)) * time.Millisecond
	raw, err := hammer(ctx, get(nothing.URL, "/"), newTransport(), span)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name    string
		request recorded
	}{
		{"simulator_profile", get(server.URL, "/users/"+login)},
		{"simulator_commits_5", get(server.URL, path+"/commits?per_page=5")},
		{"simulator_commits_100", get(server.URL, path+"/commits?per_page=100")},
		{"simulator_issues_100", get(server.URL, path+"/issues?state=all&per_page=100&sort=created&direction=asc")},
		{"simulator_graphql_100", recorded{method: http.MethodPost, url: server.URL + "/graphql", header: header, body: history}},
	} {
		rate, err := hammer(ctx, c.request, newTransport(), span)
		if err != nil {
			return err
		}
		alone, err := hammer(ctx, c.request, handled{world}, span)
		if err != nil {
			return err
		}
		line := report.Line{
			Name: c.name, Value: rate, Unit: "requests/s",
			Detail: fmt.Sprintf("over HTTP, client in the same process; the handler alone %.0f/s", alone),
		}
		if err := l.report.Add(line.Against("a handler that does nothing", raw).Aim(">= 5,000/s", rate >= 5000)); err != nil {
			return err
		}
	}
	return nil
}

const historyQuery = `query($o:String!,$n:String!){repository(owner:$o,name:$n){defaultBranchRef{target{...on Commit{history(first:100){pageInfo{hasNextPage endCursor} nodes{oid committedDate additions deletions author{name user{login}}}}}}}}}`

// handled is a transport without a network: it calls the handler and discards
// the answer.
type handled struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &discarded{header: http.Header{}, status: http.StatusOK}
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:1"
	h.ServeHTTP(w, r)
	return &http.Response{StatusCode: w.status, Status: http.StatusText(w.status), Body: http.NoBody}, nil
}

type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) WriteHeader(status int)      { d.status = status }
func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }

// hammer makes one request again and again for a while and returns how many
// per second.
func hammer(ctx context.Context, request recorded, transport http.RoundTripper, span time.Duration) (float64, error) {
	var made atomic.Int64
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for range simulatorWorkers {
		group.Go(func() error {
			for time.Since(began) < span {
				if err := request.send(ctx, transport); err != nil {
					return err
				}
				made.Add(1)
			}
			return nil
		})
	}
	err := group.Wait()
	return float64(made.Load()) / time.Since(began).Seconds(), err
}
