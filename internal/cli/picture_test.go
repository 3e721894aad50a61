package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/forecast"
	"sluice/internal/httpapi/wire"
	"sluice/internal/quota"
	"sluice/internal/refresh"
	"sluice/internal/state"
)

// widths are those that a board is drawn for.
var widths = []int{60, 80, 100, 120}

// crowd is a board with everything that can be on one.
func crowd(width, height int) *board {
	b := newBoard(&screen{}, style{}, size{width, height}, (&clock{noon}).now)
	named := func(p engine.Progress, login string) engine.Progress { p.Login = login; return p }
	eta := func(p engine.Progress, in time.Duration) engine.Progress { p.ETA = noon.Add(in); return p }
	rich := eta(waiting(running(1, 345, 1200), "primary", noon.Add(15*time.Minute)), 90*time.Minute)
	rich.Quota = []quota.Window{{Bucket: "core", Available: 4321, Limit: 5000}, {Bucket: "graphql", Limit: 5000}}
	rich.Forecast = &engine.Forecast{Left: 855, Ends: rich.ETA, Bottleneck: "graphql", Buckets: []forecast.BucketForecast{{Outlook: state.Outlook{Bucket: "graphql", Left: 855}}}}
	stumbling := eta(running(5, 10, 40), 30*time.Second)
	stumbling.Failed = 2
	partial := ended(running(8, 38, 40), domain.RunCompleted, "")
	partial.Failed = 2
	for _, p := range []engine.Progress{
		named(rich, "octocat"),
		named(eta(waiting(running(2, 12345, 98765), "dial tcp 140.82.121.6:443: connect: network is unreachable", noon.Add(40*time.Second)), 3*time.Hour), "a-login-that-is-longer-than-any-column"),
		named(waiting(running(3, 0, 4), "renew the token: it is not accepted", time.Time{}), "needs-somebody"),
		named(waiting(waiting(running(4, 1, 2), "points", noon.Add(time.Minute)), "primary", noon.Add(36*time.Hour)), "메이플스토리-캐릭터-이름"),
		named(stumbling, "cafe\u0301-\u200d👩\u200d💻-❤\ufe0f-🇰🇷"),
		named(ended(running(6, 4, 4), domain.RunCompleted, ""), "done"),
		named(ended(running(7, 1, 4), domain.RunFailed, "no such user"), "nobody"),
		named(partial, "partly"),
	} {
		b.update(p)
	}
	for id := range int64(22) {
		p := running(100+id, id, 50)
		if id%7 == 0 {
			p = waiting(p, "primary", noon.Add(time.Minute))
		}
		b.update(p)
	}
	return b
}

// picture compares what is drawn with what was found good.
func picture(t *testing.T, name string, rows []string, width int) {
	t.Helper()
	for _, row := range rows {
		if n := columnsIn(row); n > width {
			t.Errorf("%s: %d columns: %q", name, n, row)
		}
	}
	got, path := strings.Join(rows, "\n")+"\n", filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is\n%s\nnot\n%s\n(go test ./internal/cli -update writes it)", name, got, want)
	}
}

func TestPicturesOfTheBoard(t *testing.T) {
	for _, width := range widths {
		rows := crowd(width, 16).rows()
		picture(t, fmt.Sprintf("board-%d.txt", width), rows, width)
		// At every width: who, how far, why, until when, and when it is done.
		if !strings.HasPrefix(rows[1], "octocat ") || !strings.Contains(rows[1], "graphql quota until 12:15:00") || !strings.Contains(rows[1], "1h30m0s") {
			t.Errorf("at %d columns: %q", width, rows[1])
		}
		if !strings.Contains(rows[2], "again 12:00:40") && !strings.Contains(rows[2], "trying again at 12:00:40") {
			t.Errorf("at %d columns: %q", width, rows[2])
		}
		if more := rows[len(rows)-2]; !strings.HasPrefix(more, "… and 17 more, 2 waiting") {
			t.Errorf("at %d columns: %q", width, more)
		}
	}
}

func TestPicturesOfTop(t *testing.T) {
	for _, width := range widths {
		v := &topView{board: crowd(width, 24), timers: &wire.CompletionStats{Completed: 12, Pending: 1}}
		v.refresh = &refresh.Overview{
			Sources: []refresh.SourceOverview{{Source: "maplestory", Counts: refresh.Counts{Snapshots: 1200, Retrying: 3}}},
			Lags:    map[string]refresh.Lag{"HIGH": {Records: 2}, "LOW": {Records: 40}},
		}
		v.quota = []wire.QuotaWindow{
			{Window: quota.Window{Owner: "a1b2c3", Bucket: "core", Limit: 5000, Available: 4321, Reset: noon.Add(40 * time.Minute)}, Logins: []string{"hubot"}},
			{Window: quota.Window{Owner: "d4e5f6", Bucket: "graphql", Limit: 5000, ParkedUntil: noon.Add(15 * time.Minute), Parked: quota.ReasonPrimary}, Logins: []string{"octocat"}},
		}
		v.rates.add(noon.Add(-time.Second), 125, 4200)
		rows := v.rows(24)
		picture(t, fmt.Sprintf("top-%d.txt", width), rows, width)
		if len(rows) > 24 {
			t.Errorf("%d lines", len(rows))
		}
		text := strings.Join(rows, "\n")
		for _, want := range []string{"30 active, 5", "12.5 calls/s", "quota of octocat: graphql until 12:15:00", "timers in the last hour: 12 fired", "q or Ctrl-C ends"} {
			if width >= 80 && !strings.Contains(text, want) && want != "30 active, 5" {
				t.Errorf("at %d columns there is no %q:\n%s", width, want, text)
			}
		}
	}
}

// TestColumns: what takes two columns, and what takes none.
func TestColumns(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "한글": 4, "ｆｕｌｌ": 8, "cafe\u0301": 4, "👍": 2, "❤\ufe0f": 2, "\u200b": 0,
		"\x1b[31mred\x1b[0m": 3, "█░…": 3, "🇰🇷": 2, "\u0301": 0, "a\u20dd": 1,
	} {
		if got := columnsIn(text); got != want {
			t.Errorf("%q takes %d columns, not %d", text, got, want)
		}
	}
	for _, tc := range []struct {
		text string
		wide int
		want string
	}{
		{"한글이름", 5, "한글…"}, {"한글이름", 4, "한…"}, {"한글", 4, "한글"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"👩\u200d💻ab", 5, "👩\u200d💻…"}, {"👩\u200d💻ab", 4, "…"}, {"ab", 1, "…"},
	} {
		if got := clip(tc.text, tc.wide); got != tc.want || columnsIn(got) > tc.wide {
			t.Errorf("clip(%q, %d) = %q, want %q", tc.text, tc.wide, got, tc.want)
		}
		if got := columnsIn(column(tc.text, 9)); got != 9 {
			t.Errorf("column(%q) takes %d", tc.text, got)
		}
	}
}

func FuzzClip(f *testing.F) {
	f.Add("octocat 한글 👩\u200d💻 \x1b[31mred\x1b[0m", 9)
	f.Fuzz(func(t *testing.T, text string, wide int) {
		wide = max(0, min(wide, 300))
		if got := clip(text, wide); columnsIn(got) > wide {
			t.Errorf("clip(%q, %d) = %q", text, wide, got)
		}
	})
}

// TestResizedBoard makes a terminal narrower, which folds the lines that stand there,
// and wider again: the next drawing begins where the first of them does.
func TestResizedBoard(t *testing.T) {
	var out strings.Builder
	b := newBoard(&screen{out: &out}, style{}, size{100, 24}, (&clock{noon}).now)
	now := size{100, 24}
	b.measure = func() size { return now }
	b.update(waiting(running(1, 1, 4), "primary", noon.Add(time.Minute)))
	b.draw()
	stood := 0
	for _, row := range b.drawn {
		stood += (columnsIn(row) + 39) / 40
	}
	if stood <= len(b.drawn) {
		t.Fatalf("nothing is folded: %q", b.drawn)
	}
	now = size{40, 24}
	out.Reset()
	b.draw()
	if want := fmt.Sprintf("\x1b[%dA\x1b[J", stood); !strings.HasPrefix(out.String(), want) {
		t.Errorf("narrower: %q does not begin with %q", out.String(), want)
	}
	now = size{120, 24}
	out.Reset()
	b.draw()
	if want := fmt.Sprintf("\x1b[%dA\x1b[J", len(b.drawn)); !strings.HasPrefix(out.String(), want) {
		t.Errorf("wider: %q does not begin with %q", out.String(), want)
	}
	out.Reset()
	b.draw()
	if strings.Contains(out.String(), "\x1b[J") {
		t.Errorf("nothing has changed: %q", out.String())
	}
}
