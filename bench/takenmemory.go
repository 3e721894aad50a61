package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"sluice/bench/report"
	sim "sluice/internal/simulator/github"
)

const (
	// takenTarget is how much more memory ten times as many documents may take.
	takenTarget = 1.25
	// takenSteps is how many times smaller the other collection is.
	takenSteps = 10
)

// takenMemory reads how much memory the real program has at most while it takes away
// or sweeps what was collected: a million documents, beside a tenth of them.
func takenMemory(ctx context.Context, l *lab) error {
	documents := l.size(1_000_000, 20_000)
	few, err := l.takeAll(ctx, documents/takenSteps)
	if err != nil {
		return err
	}
	many, err := l.takeAll(ctx, documents)
	if err != nil {
		return err
	}
	for i, m := range many {
		ratio := m.megabytes / few[i].megabytes
		err := l.report.Add(report.Line{
			Name: "taken_memory_" + m.name, Value: m.megabytes, Unit: "MB at the most",
			Detail: fmt.Sprintf("%s of %d documents; peak resident memory of its process", m.about, documents),
		}.Against(fmt.Sprintf("%d documents", documents/takenSteps), few[i].megabytes).WithRatio(ratio).
			Aim(fmt.Sprintf("<= %.2fx", takenTarget), ratio <= takenTarget))
		if err != nil {
			return err
		}
	}
	return nil
}

// taking is one way of taking documents away.
type taking struct {
	name, about string
	args        []string
	megabytes   float64
}

// takeAll collects, and takes what was collected away in every way.
func (l *lab) takeAll(ctx context.Context, documents int) ([]taking, error) {
	issues := documents * 3 / 10
	world := sim.New(sim.Options{
		Seed: 41, Accounts: 1, Limits: boundless(),
		Shape: &sim.Shape{Repos: sim.Exactly(1), Commits: sim.Exactly(documents - issues), Issues: sim.Exactly(issues), Pulls: sim.Exactly(0)},
	})
	server := httptest.NewServer(world)
	defer server.Close()
	dir, remove, err := l.folder("taken")
	if err != nil {
		return nil, err
	}
	defer remove()
	data := filepath.Join(dir, "data")
	if _, _, err := l.collectOutside(ctx, world, server.URL, data); err != nil {
		return nil, err
	}
	login := world.Logins()[0]
	all := []taking{
		{name: "export_jsonl", about: "sluice export of commits as JSON lines", args: []string{"export", "--kind", "commits", "--format", "jsonl"}},
		{name: "export_csv", about: "sluice export of commits as CSV", args: []string{"export", "--kind", "commits", "--format", "csv"}},
		{name: "export_parquet", about: "sluice export of commits as Parquet", args: []string{"export", "--kind", "commits", "--format", "parquet", "--out", filepath.Join(dir, "commits.parquet")}},
		{name: "export_changed", about: "sluice export of changed commits", args: []string{"export", "--kind", "commits", "--changed-since", "0"}},
		{name: "sync_sqlite", about: "sluice sync to a SQLite file", args: []string{"sync", "sqlite:" + filepath.Join(dir, "target.db")}},
		{name: "sync_folder", about: "sluice sync to Parquet files", args: []string{"sync", "file://" + filepath.Join(dir, "lake")}},
		{name: "sweep", about: "sluice collect that sweeps", args: []string{
			"collect", login, "--github-url", server.URL, "--sweep-every", "1ms", "--floor", "0", "--points-per-minute", fmt.Sprint(generous), "--output", "json",
		}},
	}
	calls := world.Audit().Calls
	for i := range all {
		one := &all[i]
		peak, err := l.peakOf(ctx, append(one.args, "--data-dir", data), "SLUICE_GITHUB_TOKEN="+world.Token(login))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
		one.megabytes = float64(peak) / (1 << 20)
		l.notef("%d documents, %s: %.0f MB", documents, one.name, one.megabytes)
	}
	if again := world.Audit().Calls - calls; again < issues/100 {
		return nil, fmt.Errorf("a sweep of %d issues made %d calls", issues, again)
	}
	return all, nil
}

// peakOf runs the program to its end and says how much memory it had at the most.
func (l *lab) peakOf(ctx context.Context, args []string, env ...string) (int64, error) {
	binary, err := filepath.Abs(l.binary)
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), l.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s (make build makes it): %w", binary, err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, out)
		read <- err
	}()
	peak, err := watchPeak(cmd.Process.Pid, read)
	return peak, errors.Join(err, cmd.Wait())
}
