package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/bench/report"
	"sluice/internal/load"
)

// loadScenarios are those in which somebody reads while something is wrong.
var loadScenarios = []string{"peak-load", "slow-log", "redis-down", "slow-store"}

// refreshLoad runs the program's own load test and reports what readers and
// those who ask for a refresh noticed.
func refreshLoad(ctx context.Context, l *lab) error {
	dir, remove, err := l.folder("load")
	if err != nil {
		return err
	}
	defer remove()
	seconds := l.size(60, 4)
	p95, p99, err := l.emptyReads(ctx)
	if err != nil {
		return err
	}
	results, err := l.runLoad(ctx, dir, seconds)
	if err != nil {
		return err
	}
	beside := map[string]float64{"read_p95_ms": p95, "read_p99_ms": p99, "calls_per_second": refreshGranted}
	for _, name := range loadScenarios {
		at := slices.IndexFunc(results, func(r load.Result) bool { return r.Name == name })
		if at < 0 {
			return fmt.Errorf("sluice load says nothing of %s", name)
		}
		if err := l.reportLoad(results[at], seconds, beside); err != nil {
			return err
		}
	}
	return nil
}

// runLoad runs the scenarios. The program fails if one of them missed what it
// needs; its results tell that as well.
func (l *lab) runLoad(ctx context.Context, dir string, seconds int) (results []load.Result, err error) {
	binary, err := filepath.Abs(l.binary)
	if err != nil {
		return nil, err
	}
	arguments := append([]string{"load"}, loadScenarios...)
	cmd := exec.CommandContext(ctx, binary, append(arguments, "--seconds", strconv.Itoa(seconds), "--output", "json", "--data-dir", dir)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	failed := cmd.Run()
	if err := json.Unmarshal(out.Bytes(), &results); err != nil {
		return nil, fmt.Errorf("sluice load: %w", errors.Join(failed, err))
	}
	return results, nil
}

// loadFigure is a figure of a scenario that is reported.
type loadFigure struct {
	name, unit, target string
	met                func(v float64) bool
	// peer is what it is beside.
	peer string
}

const emptyHandler = "a handler that does nothing, asked as often"

var loadFigures = []loadFigure{
	{name: "read_p95_ms", unit: "ms", target: "< 5 ms", met: func(v float64) bool { return v < 5 }, peer: emptyHandler},
	{name: "read_p99_ms", unit: "ms", target: "< 20 ms", met: func(v float64) bool { return v < 20 }, peer: emptyHandler},
	{name: "high_p95_ms", unit: "ms", target: "< 1 s", met: func(v float64) bool { return v < 1000 }},
	{name: "calls_per_second", unit: "calls/s", peer: "calls that are granted"},
	{name: "storage_saved_percent", unit: "%", target: ">= 94 %", met: func(v float64) bool { return v >= 94 }},
}

// of is a scenario's figure, if it has it. Calls are those of its traffic, or of
// all of it, faults and what they kept waiting included.
func (f loadFigure) of(r load.Result) (value float64, there bool) {
	value, there = r.Figures[f.name]
	if !there && f.name == "calls_per_second" && r.Figures["seconds"] > 0 {
		return r.Figures["calls"] / r.Figures["seconds"], true
	}
	return value, there
}

func (l *lab) reportLoad(r load.Result, seconds int, beside map[string]float64) error {
	l.notef("%s: %s %s", r.Name, r.Verdict, r.Why)
	short := strings.ReplaceAll(r.Name, "-", "_")
	for _, f := range loadFigures {
		value, there := f.of(r)
		if !there {
			continue
		}
		line := report.Line{
			Name: "refresh_load_" + short + "_" + strings.TrimSuffix(f.name, "_ms"), Value: value, Unit: f.unit,
			Detail: fmt.Sprintf("%s; traffic for %d s, %.0f reads", r.Description, seconds, r.Figures["reads"]),
		}
		if f.peer != "" {
			line = line.Against(f.peer, beside[f.name])
		}
		// What a fault keeps waiting is late for as long as the fault lasts.
		if f.met != nil && (f.name != "high_p95_ms" || r.Name == "peak-load") {
			line = line.Aim(f.target, f.met(value))
		}
		if err := l.report.Add(line); err != nil {
			return err
		}
	}
	// Whether everything else held that the scenario needs.
	verdict := report.Line{
		Name: "refresh_load_" + short + "_missed", Value: float64(len(r.Missed)), Unit: "conditions",
		Detail: strings.TrimSpace(fmt.Sprintf("of %d: %s %s", len(r.Needed), strings.Join(r.Missed, ", "), r.Why)),
	}
	return l.report.Add(verdict.Aim("0", r.Verdict == load.Passed))
}

// emptyReads is how long readers wait who read as often as those of a scenario
// from a handler that does nothing, while nothing else goes on.
func (l *lab) emptyReads(ctx context.Context) (p95, p99 float64, err error) {
	const perTick, tick = 20, 10 * time.Millisecond
	ticks := l.size(1000, 100)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10 * perTick}}
	defer client.CloseIdleConnections()
	took := make([]float64, ticks*perTick)
	every := time.NewTicker(tick)
	defer every.Stop()
	group, reading := errgroup.WithContext(ctx)
	for i := range ticks {
		<-every.C
		due := time.Now()
		for k := range perTick {
			group.Go(func() error {
				err := getNothing(reading, client, server.URL)
				took[i*perTick+k] = float64(time.Since(due).Microseconds()) / 1000
				return err
			})
		}
	}
	err = group.Wait()
	return report.Quantile(took, 0.95), report.Quantile(took, 0.99), err
}

func getNothing(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
