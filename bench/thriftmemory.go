package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"sluice/bench/proc"
	"sluice/bench/report"
	"sluice/internal/document"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source/github"
	"sluice/internal/stats"
)

// peakEvery is how often the peak of a process's memory is read. The kernel
// keeps the peak, so nothing is missed but what the last moment adds.
const peakEvery = 100 * time.Millisecond

// millionCommits runs the real program on an account whose one repository has a
// million commits and reads the most memory it ever had. The simulated GitHub
// lives in this process, not in the one that is measured.
func millionCommits(ctx context.Context, l *lab) error {
	commits := l.size(1_000_000, 20_000)
	world := sim.New(sim.Options{
		Seed: 41, Accounts: 1, Limits: boundless(),
		Shape: &sim.Shape{Repos: sim.Exactly(1), Commits: sim.Exactly(commits), Issues: sim.Exactly(0), Pulls: sim.Exactly(0)},
	})
	server := httptest.NewServer(world)
	defer server.Close()
	dir, remove, err := l.folder("commits")
	if err != nil {
		return err
	}
	defer remove()
	began := time.Now()
	peak, documents, err := l.collectOutside(ctx, world, server.URL, dir)
	if err != nil {
		return err
	}
	took := time.Since(began)
	if stored := documents[github.KindCommit].Stored; stored != int64(commits) {
		return fmt.Errorf("%d of %d commits are stored", stored, commits)
	}
	size, err := folderSize(dir)
	if err != nil {
		return err
	}
	megabytes := float64(peak) / (1 << 20)
	return l.report.Add(report.Line{
		Name: "million_commits", Value: megabytes, Unit: "MB at the most",
		Detail: fmt.Sprintf("sluice collect of %d commits with statistics: %d calls in %.1f s, %d MB on disk; peak resident memory of its process",
			commits, world.Audit().Calls, took.Seconds(), size>>20),
	}.Aim("< 150 MB", megabytes < 150))
}

// storedKinds is how many documents there are of each kind.
type storedKinds map[document.Kind]stats.DocumentCount

// collectOutside collects the world's first account with the real program. It
// returns the peak of its memory and how many documents it says are stored.
func (l *lab) collectOutside(ctx context.Context, world *sim.Server, url, dir string) (peak int64, documents storedKinds, err error) {
	binary, err := filepath.Abs(l.binary)
	if err != nil {
		return 0, nil, err
	}
	login := world.Logins()[0]
	cmd := exec.CommandContext(ctx, binary, "collect", login, "--github-url", url, "--data-dir", dir,
		"--floor", "0", "--points-per-minute", fmt.Sprint(generous), "--output", "json")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env = append(os.Environ(), "SLUICE_GITHUB_TOKEN="+world.Token(login))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, fmt.Errorf("start %s (make build makes it): %w", binary, err)
	}
	var answer []byte
	read := make(chan error, 1)
	go func() {
		var err error
		answer, err = io.ReadAll(out)
		read <- err
	}()
	peak, err = watchPeak(cmd.Process.Pid, read)
	if err = errors.Join(err, cmd.Wait()); err != nil {
		return peak, nil, fmt.Errorf("sluice collect: %w", err)
	}
	documents, err = documentsOf(answer)
	return peak, documents, err
}

// watchPeak reads a process's peak until its output has ended.
func watchPeak(pid int, ended <-chan error) (int64, error) {
	tick := time.NewTicker(peakEvery)
	defer tick.Stop()
	peak := int64(0)
	for {
		select {
		case err := <-ended:
			return peak, err
		case <-tick.C:
			// Between its last output and its end the process has no memory
			// to read; what was read before stands.
			if now, err := proc.Peak(pid); err == nil {
				peak = max(peak, now)
			}
		}
	}
}

// documentsOf reads how many different documents the program's summary counts.
func documentsOf(answer []byte) (storedKinds, error) {
	var summary struct {
		Results []struct {
			Statistics struct {
				Documents storedKinds `json:"documents"`
			} `json:"statistics"`
		} `json:"results"`
	}
	if err := json.Unmarshal(answer, &summary); err != nil {
		return nil, fmt.Errorf("read the summary: %w", err)
	}
	if len(summary.Results) != 1 {
		return nil, fmt.Errorf("the summary has %d results instead of one", len(summary.Results))
	}
	return summary.Results[0].Statistics.Documents, nil
}
