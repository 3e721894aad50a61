package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/quota"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func running(id int64, done, known int64) engine.Progress {
	p := engine.Progress{Run: domain.Run{ID: id, Login: fmt.Sprintf("user-%d", id), Status: domain.RunRunning, CreatedAt: noon.Add(-time.Minute)}}
	p.Known, p.Succeeded, p.Calls, p.Documents = known, done, done, 100*done
	return p
}

func ended(p engine.Progress, status domain.RunStatus, reason string) engine.Progress {
	p.Status, p.Reason, p.FinishedAt = status, reason, p.CreatedAt.Add(2500*time.Millisecond)
	return p
}

func waiting(p engine.Progress, reason string, until time.Time) engine.Progress {
	p.Waits = append(p.Waits, engine.LaneWait{Lane: "abc123/graphql", Wait: engine.Wait{Reason: reason, Until: until}})
	return p
}

func plainBoard(c *clock) (*board, *bytes.Buffer) {
	out := &bytes.Buffer{}
	return newBoard(&screen{out: out}, style{}, size{}, c.now), out
}

func TestDescribe(t *testing.T) {
	rich := waiting(running(1, 3, 1200), "primary", noon.Add(15*time.Second))
	rich.Quota = []quota.Window{{Bucket: "core", Available: 4321}, {Bucket: "graphql", Available: -2}}
	rich.ETA = noon.Add(90 * time.Second)
	partial := ended(running(1, 3, 4), domain.RunCompleted, "")
	partial.Failed = 1
	late := running(1, 1, 2)
	late.ETA = noon.Add(-time.Second)
	stumbling := running(1, 1, 3)
	stumbling.Failed = 1
	for want, p := range map[string]engine.Progress{
		"3/1,200 pages, waits for graphql quota until 12:00:15Z, about 1m30s to go; 3 calls, 300 documents; quota left: core 4,321, graphql 0": rich,
		"0/4 pages, 0 calls, 0 documents":                                                                     running(1, 0, 4),
		"4/4 pages, ended in 2.5s; 4 calls, 400 documents":                                                    ended(running(1, 4, 4), domain.RunCompleted, ""),
		"4/4 pages, ended after 2.5s without what 1 failed job should have collected; 3 calls, 300 documents": partial,
		"1/4 pages, FAILED: no such user; 1 calls, 100 documents":                                             ended(running(1, 1, 4), domain.RunFailed, "no such user"),
		"1/4 pages, CANCELED: -; 1 calls, 100 documents":                                                      ended(running(1, 1, 4), domain.RunCanceled, ""),
		"4/4 pages, computing statistics; 4 calls, 400 documents":                                             {Run: finalizing()},
		"1/2 pages, 1 calls, 100 documents":                                                                   late,
		"2/3 pages, 1 job failed; 1 calls, 100 documents":                                                     stumbling,
	} {
		if got := (narrator{now: (&clock{noon}).now}).describe(p, gapsUnknown); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// TestDescribeGoesByTheLedger: that no job failed does not make a run complete.
func TestDescribeGoesByTheLedger(t *testing.T) {
	whole := ended(running(1, 4, 4), domain.RunCompleted, "")
	for want, sum := range map[string]wire.LedgerSummary{
		"complete in 2.5s":           {PagesKnown: 4, PagesStored: 4},
		"ended after 2.5s with gaps": {PagesKnown: 4, PagesStored: 4, PagesUnknown: 1, Gaps: 1},
		"ended in 2.5s":              {PagesKnown: 4, PagesStored: 4, Pruned: true},
	} {
		got := (narrator{now: (&clock{noon}).now}).describe(whole, completenessOf(sum))
		if want = "4/4 pages, " + want + "; 4 calls, 400 documents"; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func finalizing() domain.Run {
	r := running(1, 4, 4).Run
	r.Status = domain.RunFinalizing
	return r
}

func TestWaitText(t *testing.T) {
	n, soon := narrator{now: (&clock{noon}).now}, noon.Add(5*time.Second)
	for _, tc := range []struct {
		reason string
		until  time.Time
		want   string
	}{
		{"primary", soon, "waits for graphql quota until 12:00:05Z"},
		{"floor", soon, "waits for graphql quota beyond what its owner keeps until 12:00:05Z"},
		{"points", soon, "waits for the secondary limit of graphql until 12:00:05Z"},
		{"concurrency", soon, "waits for the secondary limit of graphql until 12:00:05Z"},
		{"retry_after", soon, "waits because the upstream asked it to until 12:00:05Z"},
		{"no network", soon, "no network, trying again at 12:00:05Z"},
		{"the token is not accepted", time.Time{}, "the token is not accepted"},
		{"backoff", soon, "waits after a limit that does not say when it ends until 12:00:05Z"},
		{"primary", noon, "waits for graphql quota, which ends any moment"},
		{"no network", noon.Add(-time.Hour), "no network, which ends any moment"},
		{"primary", noon.Add(36 * time.Hour), "waits for graphql quota until " + noon.Add(36*time.Hour).Local().Format("2006-01-02 15:04:05 MST")},
		{"primary", noon.AddDate(1, 0, 0), "waits for graphql quota until " + noon.AddDate(1, 0, 0).Local().Format("2006-01-02 15:04:05 MST")},
	} {
		if got := n.waitText(waiting(running(1, 0, 1), tc.reason, tc.until)); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
	both := waiting(waiting(running(1, 0, 1), "primary", soon), "disk full", noon.Add(time.Second))
	if got, want := n.waitText(both), "waits for graphql quota until 12:00:05Z; disk full, trying again at 12:00:01Z"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if waitsForPerson(both) || !waitsForPerson(waiting(both, "paused", time.Time{})) {
		t.Error("only a wait without an end is one for a person")
	}
}

// TestPlainLines follows one run without a terminal: a line for every change
// that matters, and now and then one while pages only come in.
func TestPlainLines(t *testing.T) {
	c := &clock{noon}
	b, out := plainBoard(c)
	step := func(after time.Duration, p engine.Progress, want string) {
		t.Helper()
		out.Reset()
		c.at = c.at.Add(after)
		b.update(p)
		b.draw()
		if got := out.String(); (want == "") != (got == "") || !strings.Contains(got, want) || strings.Count(got, "\n") > 1 {
			t.Errorf("at %s: got %q, want one line with %q", c.at.Format("05.000"), got, want)
		}
	}
	step(0, running(1, 0, 4), "user-1 run 1 RUNNING: 0/4 pages")
	step(time.Second, running(1, 1, 4), "")
	step(time.Second, waiting(running(1, 1, 4), "primary", noon.Add(15*time.Second)), "waits for graphql quota until 12:00:15Z")
	step(time.Second, waiting(running(1, 1, 4), "primary", noon.Add(16*time.Second)), "")
	step(time.Second, running(1, 2, 4), "")
	step(time.Second, waiting(running(1, 2, 4), "primary", noon.Add(30*time.Second)), "")
	step(sayAgain, running(1, 3, 4), "3/4 pages")
	step(0, waiting(running(1, 3, 4), "no network", noon.Add(time.Minute)), "no network, trying again")
	step(0, ended(running(1, 4, 4), domain.RunCompleted, ""), "run 1 COMPLETED")
	step(time.Hour, ended(running(1, 4, 4), domain.RunCompleted, ""), "")
}

// terminal is what a terminal shows: it understands what the board writes.
type terminal struct {
	t    *testing.T
	rows []string
	at   int
}

func (m *terminal) Write(b []byte) (int, error) {
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "\x1b["); ok {
			if n, after, ok := strings.Cut(rest, "A"); ok && strings.Trim(n, "0123456789") == "" {
				var up int
				fmt.Sscan(n, &up)
				if m.at -= up; m.at < 0 {
					m.t.Fatalf("the board moved %d above the top", -m.at)
				}
				line = after
			}
		}
		text, whole := strings.CutSuffix(line, "\n")
		if !whole {
			m.t.Fatalf("a line without an end: %q", line)
		}
		text = strings.TrimPrefix(text, "\x1b[2K")
		for len(m.rows) <= m.at {
			m.rows = append(m.rows, "")
		}
		m.rows[m.at] = text
		m.at++
	}
	return len(b), nil
}

func terminalBoard(t *testing.T, s size) (*board, *terminal) {
	m := &terminal{t: t}
	return newBoard(&screen{out: m}, style{}, s, (&clock{noon}).now), m
}

func TestRedrawInPlace(t *testing.T) {
	b, m := terminalBoard(t, size{100, 24})
	for id := range int64(3) {
		b.update(running(id+1, 1, 4))
	}
	b.draw()
	b.update(ended(running(1, 4, 4), domain.RunCompleted, ""))
	b.draw()
	if len(m.rows) != 4 {
		t.Fatalf("three runs and their sum take %d rows: %q", len(m.rows), m.rows)
	}
	for i, want := range []string{"user-2 ", "user-3 ", "user-1 ", "12:00:00  1 of 3 accounts done, 6 calls, 600 documents"} {
		if !strings.HasPrefix(m.rows[i], want) {
			t.Errorf("row %d is %q, want %q…", i, m.rows[i], want)
		}
	}
	if !strings.Contains(m.rows[2], "████████████████████") || !strings.Contains(m.rows[0], "█████░░░░░░░░░░░░░░░") {
		t.Errorf("bars are wrong: %q", m.rows)
	}

	// A message pushes the board down; nothing of it is overwritten.
	fmt.Fprintln(b.screen, "a message")
	b.draw()
	if len(m.rows) != 9 || m.rows[4] != "a message" || !strings.Contains(m.rows[8], "1 of 3") {
		t.Errorf("after a message: %q", m.rows)
	}
}

func TestBoardFitsTheTerminal(t *testing.T) {
	for _, s := range []size{{20, 5}, {40, 10}, {80, 24}, {300, 200}, {80, 0}} {
		b, m := terminalBoard(t, s)
		for id := range int64(50) {
			b.update(waiting(running(id+1, id, 100), "primary", noon))
		}
		b.draw()
		b.draw()
		if s.height > 0 && len(m.rows) >= s.height || len(m.rows) > maxRows+1 {
			t.Errorf("%+v: %d rows", s, len(m.rows))
		}
		for _, row := range m.rows {
			if n := columnsIn(row); n > s.width {
				t.Errorf("%+v: a row of %d characters: %q", s, n, row)
			}
		}
		if last := m.rows[len(m.rows)-1]; !strings.HasPrefix(last, "12:00:00  0 of 50") {
			t.Errorf("%+v: the sum is missing: %q", s, last)
		}
	}
}

func TestNarrowTerminalShowsWhatMatters(t *testing.T) {
	b, m := terminalBoard(t, size{100, 24})
	b.update(waiting(running(1, 63, 79), "primary", noon.Add(time.Second)))
	b.draw()
	if !strings.Contains(m.rows[0], "63/79 pages") || !strings.Contains(m.rows[0], "waits for graphql quota until 12:00:01Z") {
		t.Errorf("got %q", m.rows[0])
	}
}

func TestClip(t *testing.T) {
	for _, tc := range []struct {
		line  string
		width int
		want  string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"█░█░", 2, "█…"},
		{"\x1b[31mabcd\x1b[0m", 2, "\x1b[31ma…\x1b[0m"},
		{"\x1b[31mab\x1b[0m", 2, "\x1b[31mab\x1b[0m"},
		{"", 0, ""},
		{"ab", 0, ""},
	} {
		if got := clip(tc.line, tc.width); got != tc.want {
			t.Errorf("clip(%q, %d) = %q, want %q", tc.line, tc.width, got, tc.want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567", -5: "-5", -123: "-123", -1234: "-1,234",
	} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 pages", 1: "1 page", 2000: "2,000 pages"} {
		if got := plural(n, "page"); got != want {
			t.Errorf("plural(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestColours(t *testing.T) {
	b := newBoard(&screen{}, style{on: true}, size{200, 24}, (&clock{noon}).now)
	for code, p := range map[string]engine.Progress{
		"\x1b[32m": ended(running(1, 4, 4), domain.RunCompleted, ""),
		"\x1b[31m": ended(running(1, 1, 4), domain.RunFailed, "no such user"),
		"\x1b[33m": waiting(running(1, 1, 4), "primary", noon),
	} {
		if row := b.row(p); !strings.Contains(row, code) || !strings.Contains(row, "\x1b[0m") {
			t.Errorf("%s is painted %q", p.Status, row)
		}
	}
	env := map[string]string{}
	a := &App{Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	if a.style(&bytes.Buffer{}).on {
		t.Error("colours without a terminal")
	}
	if got := (style{}).red("x"); got != "x" {
		t.Errorf("painted %q without colours", got)
	}
}
