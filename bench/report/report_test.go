package report_test

import (
	"strings"
	"testing"

	"sluice/bench/report"
)

func TestLines(t *testing.T) {
	var out strings.Builder
	r := report.New(&out)
	line := report.Line{Name: "noop", Value: 30123.7, Unit: "jobs/s"}.Against("asynq", 10000).Aim(">= 3x", true)
	if err := r.Add(line); err != nil {
		t.Fatal(err)
	}
	if err := r.Add(report.Line{Name: "idle", Unit: "% CPU"}); err != nil {
		t.Fatal(err)
	}
	want := `{"name":"noop","value":30124,"unit":"jobs/s","peer":"asynq","peer_value":10000,"ratio":3.012,"target":">= 3x","ok":true}
{"name":"idle","value":0,"unit":"% CPU"}
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	var table strings.Builder
	if err := r.Table(&table); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"30,124", "10,000", "3.012", "yes"} {
		if !strings.Contains(table.String(), text) {
			t.Errorf("the table lacks %q:\n%s", text, table.String())
		}
	}
}

func TestRatioToNothing(t *testing.T) {
	if l := (report.Line{Value: 3}).Against("nothing", 0); l.Ratio != nil || l.PeerValue == nil {
		t.Errorf("got %+v", l)
	}
}

func TestSamples(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"odd median", report.Median([]float64{9, 1, 5}), 5},
		{"even median", report.Median([]float64{4, 1, 2, 9}), 3},
		{"median of none", report.Median(nil), 0},
		{"p50", report.Quantile([]float64{4, 3, 2, 1}, 0.5), 2},
		{"p99 of a hundred", report.Quantile(upTo(100), 0.99), 99},
		{"p100", report.Quantile(upTo(7), 1), 7},
		{"quantile of none", report.Quantile(nil, 0.5), 0},
		{"median ratio", report.Median(report.Ratios([]float64{2, 9, 4}, []float64{1, 3, 1})), 3},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
}

func upTo(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(n - i)
	}
	return out
}
