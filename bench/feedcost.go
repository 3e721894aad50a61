package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/bench/report"
	"sluice/internal/config"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source/github"
)

// feedTarget is how much of the throughput of a collection the feed of changes may
// take, in percent.
const feedTarget = 10

// withoutLog has SQLite drop what is written to the log of changes.
const withoutLog = "CREATE TRIGGER unlogged BEFORE INSERT ON change_log BEGIN SELECT RAISE(IGNORE); END"

// feedCost compares a first collection with one whose log of changes is not kept, in
// turn. Both hash what they store and read what they hold of it: that is what
// leaves unchanged copies unwritten. Neither keeps an index of words, which
// follows the feed.
func feedCost(ctx context.Context, l *lab) error {
	world := sim.New(sim.Options{Seed: 11, Accounts: l.size(300, 10), Limits: sim.Limits{Disabled: true}})
	server := httptest.NewServer(world)
	defer server.Close()
	collect := func(prepare func(dir string) error) (effort, error) {
		src, err := github.New(github.Options{BaseURL: server.URL})
		if err != nil {
			return effort{}, err
		}
		return l.collectWith(ctx, world, src, func(c *config.Config) { c.Search = false }, prepare)
	}
	var with, without, withCPU, withoutCPU []float64
	// Both are done once before they count.
	for round := range l.rounds() + 1 {
		logged, err := collect(nil)
		if err != nil {
			return err
		}
		unlogged, err := collect(dropLog)
		if err != nil {
			return err
		}
		l.notef("round %d: with the log %.0f requests/s, %.0f µs each; without %.0f, %.0f", round, logged.perSecond(), perCall(logged), unlogged.perSecond(), perCall(unlogged))
		if round == 0 && l.rounds() > 1 {
			continue
		}
		with, without = append(with, logged.perSecond()), append(without, unlogged.perSecond())
		withCPU, withoutCPU = append(withCPU, perCall(logged)), append(withoutCPU, perCall(unlogged))
	}
	ratio := report.Median(report.Ratios(with, without))
	rate := report.Line{
		Name: "feed_cost", Value: report.Median(with), Unit: "requests/s",
		Detail: fmt.Sprintf("collections of %d accounts, median of %d rounds; without an index of words", len(world.Logins()), len(with)),
	}.Against("the same without the log of changes", report.Median(without)).WithRatio(ratio)
	cpu := report.Line{
		Name: "feed_cost_cpu", Value: report.Median(withCPU), Unit: "µs/request",
		Detail: "processor time of the whole process, the simulated GitHub included in both",
	}.Against("the same without the log of changes", report.Median(withoutCPU))
	return errors.Join(l.report.Add(rate.Aim(fmt.Sprintf("> %.2fx", 1-feedTarget/100.), ratio > 1-feedTarget/100.)), l.report.Add(cpu))
}

func dropLog(dir string) (err error) {
	conn, err := driver.OpenConn(filepath.Join(dir, "sluice.db"), driver.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return sqlitex.ExecuteTransient(conn, withoutLog, nil)
}
