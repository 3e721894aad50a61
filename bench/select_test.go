package main

import (
	"strings"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
)

func TestChoose(t *testing.T) {
	all := benchmarks()
	if got, err := choose(all, nil); err != nil || len(got) != len(all) {
		t.Errorf("no names choose %d of %d, %v", len(got), len(all), err)
	}
	got, err := choose(all, []string{"idle", "collection"})
	if err != nil || len(got) != 2 || got[0].name != "idle" || got[1].name != "collection" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := choose(all, []string{"idel"}); err == nil || !strings.Contains(err.Error(), "idle") {
		t.Errorf("an unknown name gives %v", err)
	}
}

func TestFullWindowsLeaveOutTheEnds(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	window := func(owner string, start, used int) sim.WindowUsage {
		return sim.WindowUsage{Owner: owner, Bucket: "core", Start: at(start), End: at(start + 5), Limit: 10, Used: used}
	}
	full, gaps := fullWindows([]sim.WindowUsage{
		window("a", 12, 9), window("a", 0, 1), window("a", 6, 10), window("a", 18, 2),
		window("b", 0, 3), window("b", 5, 4), // too few to have a full one
	})
	if len(full) != 2 || full[0].Used != 10 || full[1].Used != 9 {
		t.Errorf("full windows: %+v", full)
	}
	if len(gaps) != 3 || gaps[0] != 1000 {
		t.Errorf("gaps: %v", gaps)
	}
}

func TestMetric(t *testing.T) {
	const scrape = "# TYPE sluice_sql_reads_total counter\nsluice_sql_reads_total_more 3\nsluice_sql_reads_total 12\n"
	if got, err := metric(scrape, "sluice_sql_reads_total"); err != nil || got != 12 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := metric(scrape, "sluice_other"); err == nil {
		t.Error("a missing metric was found")
	}
}

func TestLatenessCountsTheEarly(t *testing.T) {
	got := summarize([]time.Duration{-2 * time.Millisecond, time.Millisecond, 3 * time.Millisecond})
	if got.early != 1 || got.min != -2 || got.p50 != 1 || got.max != 3 {
		t.Errorf("got %+v", got)
	}
}
