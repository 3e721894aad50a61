package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"

	"sluice/bench/report"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source"
	"sluice/internal/source/declared"
	"sluice/internal/source/github"
)

// issuesAsFile describes what the hand-written source asks of repositories that have
// nothing but issues: the same lists, in pages of the same size.
const issuesAsFile = `
source: filed
base: https://api.github.com
auth: {header: Authorization, prefix: "token "}
ration: {all: {per: key, calls: 1000000, every: 1h, shape: sliding}}
streams:
  repos:
    get: "/users/{target}/repos?sort=created&direction=asc"
    page: {type: link, size: {per_page: 100}}
    key: id
    version: updated_at
    title: full_name
  issues:
    of: repos
    get: "/repos/{target}/{repos.name}/issues?state=all&sort=created&direction=asc"
    page: {type: link, size: {per_page: 100}}
    key: id
    version: updated_at
    title: title
    columns:
      number: {at: number, type: integer}
      state: state
      author: user.login
      opened_at: {at: created_at, type: instant}
      closed_on: {at: closed_at, type: instant}
      tags: {at: labels.*.name, type: list}
      comments: {at: comments, type: integer}
`

// declaredTarget is how fast a source of a file is to be, beside a hand-written one.
const declaredTarget = 0.5

// declaredSpeed compares a first collection of issues by the hand-written source with one
// by a file that describes the same lists, from the same simulated GitHub.
func declaredSpeed(ctx context.Context, l *lab) error {
	world := sim.New(sim.Options{
		Seed: 5, Accounts: l.size(40, 4), Limits: sim.Limits{Disabled: true},
		Shape: &sim.Shape{Repos: sim.Exactly(2), Issues: sim.Exactly(l.size(1000, 200))},
	})
	server := httptest.NewServer(world)
	defer server.Close()
	file, mistakes := declared.Load([]byte(issuesAsFile))
	if err := mistakes.Err("the file of the benchmark"); err != nil {
		return err
	}
	var filed, written []float64
	var filedCPU, writtenCPU []float64
	var last [2]effort
	for round := range l.rounds() {
		for which, open := range []func() (source.Source, error){
			func() (source.Source, error) { return github.New(github.Options{BaseURL: server.URL}) },
			func() (source.Source, error) { return declared.New(file, declared.Options{Base: server.URL}) },
		} {
			src, err := open()
			if err != nil {
				return err
			}
			e, err := l.collectBy(ctx, world, src)
			if err != nil {
				return fmt.Errorf("%s: %w", src.Name(), err)
			}
			last[which] = e
		}
		written = append(written, float64(last[0].documents)/last[0].took.Seconds())
		filed = append(filed, float64(last[1].documents)/last[1].took.Seconds())
		writtenCPU = append(writtenCPU, perDocument(last[0]))
		filedCPU = append(filedCPU, perDocument(last[1]))
		l.notef("round %d: hand-written %d documents by %d calls, %.0f/s; a file %d by %d, %.0f/s", round+1,
			last[0].documents, last[0].calls, written[round], last[1].documents, last[1].calls, filed[round])
	}
	ratio := report.Median(report.Ratios(filed, written))
	rate := report.Line{
		Name: "declared_speed", Value: report.Median(filed), Unit: "documents/s",
		Detail: fmt.Sprintf("%d documents by %d calls, pages of 100, median of %d rounds; hand-written %d by %d", last[1].documents, last[1].calls, len(filed), last[0].documents, last[0].calls),
	}.Against("the hand-written source of GitHub", report.Median(written)).WithRatio(ratio).Aim(">= 0.5x", ratio >= declaredTarget)
	cpu := report.Line{
		Name: "declared_speed_cpu", Value: report.Median(filedCPU), Unit: "µs/document",
		Detail: "processor time of the whole process, the simulated GitHub included in both",
	}.Against("the hand-written source of GitHub", report.Median(writtenCPU))
	return errors.Join(l.report.Add(rate), l.report.Add(cpu))
}

func perDocument(e effort) float64 {
	return float64(e.cpu.Microseconds()) / float64(max(e.documents, 1))
}
