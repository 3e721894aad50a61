package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"sluice/bench/report"
	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/state"
	"sluice/internal/wiring"
)

// pendingAccounts is over how many accounts the waiting jobs are spread.
const pendingAccounts = 100

// millionPending compares an engine before which a million jobs wait with one
// before which a thousand do. Each start is a process of its own.
func millionPending(ctx context.Context, l *lab) error {
	few, many := 1_000, l.size(1_000_000, 20_000)
	folders := map[int]string{}
	for _, n := range []int{few, many} {
		dir, remove, err := l.folder("pending")
		if err != nil {
			return err
		}
		defer remove()
		o := wiring.Options{Config: config.Embedded(dir), Holder: "bench", Quota: wiring.NoQuota(), Sources: []source.Source{&enginetest.Noop{}}}
		if err := plan(ctx, o, n); err != nil {
			return err
		}
		folders[n] = dir
	}
	size, err := folderSize(folders[many])
	if err != nil {
		return err
	}
	l.notef("%d jobs take %d MB on disk", many, size>>20)
	var small, large pendingRounds
	for round := range l.rounds() {
		for _, side := range []struct {
			n      int
			rounds *pendingRounds
		}{{few, &small}, {many, &large}} {
			figures, err := inChild(ctx, folders[side.n])
			if err != nil {
				return err
			}
			if figures.Waiting != side.n {
				return fmt.Errorf("the engine found %d of %d jobs", figures.Waiting, side.n)
			}
			side.rounds.add(figures)
			l.notef("round %d, %d jobs: started in %.2f s, %.0f MB, lease %.0f ns, lease and claim %.0f µs",
				round+1, side.n, figures.StartSeconds, figures.ResidentMB, figures.LeaseNanos, figures.ClaimMicros)
		}
	}
	return l.reportPending(small, large)
}

// pendingRounds are the figures of all rounds, one slice for each.
type pendingRounds struct{ start, resident, heap, lease, claim []float64 }

func (p *pendingRounds) add(f pendingFigures) {
	p.start, p.resident, p.heap = append(p.start, f.StartSeconds), append(p.resident, f.ResidentMB), append(p.heap, f.HeapMB)
	p.lease, p.claim = append(p.lease, f.LeaseNanos), append(p.claim, f.ClaimMicros)
}

func (l *lab) reportPending(small, large pendingRounds) error {
	const beside = "the same with 1,000 jobs"
	start := report.Line{Name: "million_start", Value: report.Median(large.start), Unit: "s", Detail: "opening, recovery and rebuild of dispatch"}.
		Against(beside, report.Median(small.start))
	memory := report.Line{
		Name: "million_memory", Value: report.Median(large.resident), Unit: "MB resident",
		Detail: fmt.Sprintf("right after the start, in a process of its own; Go heap %.0f MB", report.Median(large.heap)),
	}.Against(beside, report.Median(small.resident))
	lease := report.Line{Name: "million_lease", Value: report.Median(large.lease), Unit: "ns"}.Against(beside, report.Median(small.lease))
	lease = lease.WithRatio(report.Median(report.Ratios(large.lease, small.lease)))
	claim := report.Line{
		Name: "million_lease_claim", Value: report.Median(large.claim), Unit: "µs",
		Detail: "one worker: lease, read the row, claim it with an fsync",
	}.Against(beside, report.Median(small.claim))
	claim = claim.WithRatio(report.Median(report.Ratios(large.claim, small.claim)))
	return errors.Join(
		l.report.Add(start.Aim("< 10 s", start.Value < 10)),
		l.report.Add(memory.Aim("< 300 MB", memory.Value < 300)),
		l.report.Add(lease.Aim("<= 1.2x", *lease.Ratio <= 1.2)),
		l.report.Add(claim.Aim("<= 1.2x", *claim.Ratio <= 1.2)),
	)
}

// plan fills a state with n jobs that wait.
func plan(ctx context.Context, o wiring.Options, n int) (err error) {
	svc, err := wiring.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
	each := n / pendingAccounts
	specs := make([]domain.JobSpec, each)
	for i := range specs {
		specs[i] = domain.JobSpec{
			Type: "NOOP", Resource: fmt.Sprintf("repo:%d", 100_000_000+i), Bucket: "core", Class: domain.ClassChild,
			Params: fmt.Appendf(nil, `{"repo":{"id":%d,"name":"octocat-0001/some-repository"},"page":1}`, 100_000_000+i),
		}
	}
	for a := range pendingAccounts {
		account, err := svc.Engine.PutAccount(ctx, engine.Signup{Source: "noop", Login: fmt.Sprintf("account-%d", a), Token: strconv.Itoa(a)})
		if err != nil {
			return err
		}
		run, err := svc.State.CreateRun(ctx, state.RunSpec{AccountID: account.ID, Trigger: domain.TriggerManual, Priority: domain.PriorityHigh})
		if err != nil {
			return err
		}
		if _, err := svc.State.PlanRun(ctx, run.ID, specs); err != nil {
			return err
		}
	}
	return nil
}

// inChild starts an engine on the folder in a process of its own.
func inChild(ctx context.Context, dir string) (pendingFigures, error) {
	cmd, err := childProcess(ctx, "pending", dir, strconv.Itoa(pendingClaims))
	if err != nil {
		return pendingFigures{}, err
	}
	out, err := cmd.Output()
	if err != nil {
		return pendingFigures{}, fmt.Errorf("start on %s: %w", dir, err)
	}
	var figures pendingFigures
	return figures, json.Unmarshal(out, &figures)
}

func folderSize(dir string) (int64, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	return total, nil
}
