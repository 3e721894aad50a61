package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/bench/report"
	sim "sluice/internal/simulator/github"
	"sluice/internal/wiring"
)

// changes is what was altered in one account since it was collected.
type changes struct {
	repositories int // that the account has
	pushed       int // repositories with new commits, at most 100 in each
	listed       int // repositories in which an issue or a pull request changed
	pulls        int // pull requests that changed, in all repositories
	events       int // that the account's list has gained
}

// fewest is the fewest paid calls that can bring the changes:
//
//	pushes    the walk by push time ends with the page that shows the first
//	          repository older than the cursor: ⌊pushed/100⌋+1 pages
//	updates   the walk by update time goes to the end, since a repository does
//	          not tell when one of its issues changed: ⌈repositories/100⌉
//	commits   one history call per repository that was pushed to
//	issues    one listing per repository with changed issues or pull requests,
//	          which names the pull requests
//	pulls     details in batches of 100, which may span repositories
//	events    ⌈new events/100⌉
//
// The profile, and pages of events that did not change, cost nothing (304) and
// are not counted on either side.
func (c changes) fewest() int {
	walks := min(c.pushed/100+1, hundreds(c.repositories)) + hundreds(c.repositories)
	return walks + c.pushed + c.listed + hundreds(c.pulls) + hundreds(c.events)
}

func hundreds(items int) int { return (items + 99) / 100 }

// onePercent collects accounts again after one in a hundred of something has
// changed: of the repositories, each with a push, an edited issue and a new pull
// request; or of the issues and pull requests, wherever they are.
func onePercent(ctx context.Context, l *lab) error {
	return errors.Join(
		l.changed(ctx, "changed_repositories", "1 % of the repositories, each with a push, an edited issue and a new pull request", changeRepositories),
		l.changed(ctx, "changed_items", "1 % of the issues and pull requests edited, in any repository", changeItems),
	)
}

type alteration func(*rand.Rand, *sim.Server, string) (changes, error)

func (l *lab) changed(ctx context.Context, name, about string, alter alteration) (err error) {
	t, err := l.openThrift(ctx, sim.Options{
		Seed: 31, Accounts: 2, Limits: boundless(),
		Shape: &sim.Shape{Repos: sim.Exactly(l.size(500, 100)), Commits: sim.Exactly(20), Issues: sim.Exactly(20), Pulls: sim.Exactly(5)},
	}, wiring.NoQuota())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if _, err := t.collect(ctx); err != nil {
		return err
	}
	t.later()
	var all changes
	fewest := 0
	random := rand.New(rand.NewPCG(31, 7))
	for _, login := range t.world.Logins() {
		c, err := alter(random, t.world, login)
		if err != nil {
			return err
		}
		fewest += c.fewest()
		all.repositories, all.pushed, all.listed = all.repositories+c.repositories, all.pushed+c.pushed, all.listed+c.listed
		all.pulls, all.events = all.pulls+c.pulls, all.events+c.events
	}
	audit, err := t.collect(ctx)
	if err != nil {
		return err
	}
	line := report.Line{
		Name: name, Value: float64(audit.Calls - audit.NotModified), Unit: "paid calls",
		Detail: fmt.Sprintf("%s: of %d repositories %d pushed to and %d with changed issues or pull requests, %d pull requests, %d events; by endpoint %v, of which %d answered with 304",
			about, all.repositories, all.pushed, all.listed, all.pulls, all.events, audit.ByEndpoint, audit.NotModified),
	}.Against("the fewest possible", float64(fewest))
	return l.report.Add(line.Aim("<= 1.2x", *line.Ratio <= 1.2))
}

func changeRepositories(random *rand.Rand, world *sim.Server, login string) (changes, error) {
	repos := world.Repos(login)
	c := changes{repositories: len(repos)}
	for _, at := range random.Perm(len(repos))[:max(len(repos)/100, 1)] {
		truth, err := oneIssue(world, login, repos[at].Name)
		if err != nil {
			return c, err
		}
		_, opened := world.OpenPull(repos[at])
		if err := errors.Join(world.Push(repos[at], 1), world.EditIssue(repos[at], truth), opened); err != nil {
			return c, err
		}
		c.pushed, c.listed, c.pulls, c.events = c.pushed+1, c.listed+1, c.pulls+1, c.events+2
	}
	return c, nil
}

// oneIssue finds the number of an issue that is no pull request.
func oneIssue(world *sim.Server, login, repository string) (int, error) {
	truth, err := world.Truth(login, time.Time{})
	if err != nil {
		return 0, err
	}
	for _, r := range truth.Repositories {
		if r.Name == repository && len(r.Issues) > 0 {
			return r.Issues[0].Number, nil
		}
	}
	return 0, fmt.Errorf("%s/%s has no issues", login, repository)
}

func changeItems(random *rand.Rand, world *sim.Server, login string) (changes, error) {
	truth, err := world.Truth(login, time.Time{})
	if err != nil {
		return changes{}, err
	}
	type thread struct {
		repo   sim.Repo
		number int
		pull   bool
	}
	var threads []thread
	for _, r := range truth.Repositories {
		at := sim.Repo{Owner: login, Name: r.Name}
		for _, issue := range r.Issues {
			threads = append(threads, thread{at, issue.Number, false})
		}
		for _, pull := range r.Pulls {
			threads = append(threads, thread{at, pull.Number, true})
		}
	}
	c := changes{repositories: len(truth.Repositories)}
	touched := map[sim.Repo]bool{}
	for _, i := range random.Perm(len(threads))[:max(len(threads)/100, 1)] {
		if err := world.EditIssue(threads[i].repo, threads[i].number); err != nil {
			return c, err
		}
		touched[threads[i].repo] = true
		if threads[i].pull {
			c.pulls++
		}
	}
	c.listed = len(touched)
	return c, nil
}
