package main_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

var timeOfDay = regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d  `)

// fits says whether a screen shows a board that was drawn for its width: every line
// begins with an account, or is one of the two that end it, and none is there twice.
func fits(screen string, columns, lines int, logins []string) bool {
	rows := strings.Split(screen, "\n")
	rows = rows[max(len(rows)-lines, 0):]
	accounts := 0
	for _, login := range logins {
		accounts += strings.Count(screen, "\n"+login+" ") + strings.Count(screen, "\n"+login[:min(len(login), 13)]+"…")
		if strings.HasPrefix(screen, login+" ") {
			accounts++
		}
	}
	for _, row := range rows {
		if len([]rune(row)) > columns {
			return false
		}
	}
	return accounts > 0 && strings.Count(screen, "accounts done") == 1 && strings.Count(screen, " more, ") == 1 &&
		strings.Count(screen, " until ") >= accounts
}

// TestBoardInARealTerminal collects more accounts than a terminal has lines, all of
// which wait for their ration, at four widths: what each waits for and until when can
// be read at every one of them, also after the terminal was made narrower and wider.
func TestBoardInARealTerminal(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 30, Limits: sim.Limits{Window: time.Hour, CoreLimit: 3, GraphQLLimit: 3}})
	const lines = 14
	args := append([]string{sluice.Binary}, u.Collect(t.TempDir(), "--output", "text")...)
	term := testkit.StartTerminal(t, 60, lines, sluice.Environment(), args...)
	sum := regexp.MustCompile(`… and \d+ more, \d+ waiting`)
	for _, columns := range []int{60, 120, 80, 100, 60} {
		term.Resize(columns, lines)
		screen := term.Await(fmt.Sprintf("a board of %d columns", columns), func(screen string) bool {
			return fits(screen, columns, lines, u.Logins()) && sum.MatchString(screen) && strings.Contains(screen, "█") == (columns >= 80)
		})
		t.Logf("%d columns:\n%s", columns, screen)
		clock := timeOfDay.FindString(screen)
		if clock == "" {
			t.Errorf("there is no time of day:\n%s", screen)
		}
		term.Await("a clock that moves", func(screen string) bool { return timeOfDay.FindString(screen) != clock })
	}
	term.Keys("C-c")
	if code := term.Ends(); code != 130 {
		t.Errorf("it ended with %d", code)
	}
}

// TestTopInARealTerminal looks at a collection from another terminal while it works.
func TestTopInARealTerminal(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 30, Limits: sim.Limits{Window: time.Hour, CoreLimit: 3, GraphQLLimit: 3}})
	dir := t.TempDir()
	collecting := sluice.Start(t, nil, u.Collect(dir)...)
	collecting.Says("waits for")
	const lines = 20
	term := testkit.StartTerminal(t, 60, lines, sluice.Environment(), sluice.Binary, "top", "--data-dir", dir)
	for _, columns := range []int{60, 80, 120, 100, 60} {
		term.Resize(columns, lines)
		screen := term.Await(fmt.Sprintf("a picture of %d columns", columns), func(screen string) bool {
			return strings.Contains(screen, "30 of them waiting") && strings.Contains(screen, " until ") && strings.Contains(screen, "quota of ") &&
				strings.Contains(screen, "refreshes: ") && strings.Contains(screen, "timers") && strings.Contains(screen, "q or Ctrl-C ends") &&
				strings.Contains(screen, "█") == (columns >= 80) && strings.Count(screen, "runs: ") == 1 &&
				// When it ends is told in fewer words where there is less room, as when what
				// it waits for is tomorrow.
				(strings.Contains(screen, " to go") || strings.Contains(screen, ", ~"))
		})
		t.Logf("%d columns:\n%s", columns, screen)
		clock := timeOfDay.FindString(screen)
		term.Await("a clock that moves", func(screen string) bool { return timeOfDay.FindString(screen) != clock })
	}
	term.Keys("q")
	if code := term.Ends(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	if screen := term.Screen(); strings.Contains(screen, "quota of") {
		t.Errorf("what was there before has not come back:\n%s", screen)
	}
	once := sluice.Run(t, nil, "top", "--once", "--data-dir", dir).Expect(t, 0)
	if !strings.Contains(once.Out, "30 of them waiting") || strings.Contains(once.Out, "\x1b") {
		t.Errorf("a picture: %s", once.Out)
	}
	one := sluice.Decode[struct {
		Runs  []struct{ Login string }
		Quota []struct{ Owner string }
	}](t, sluice.Run(t, nil, "top", "--once", "-o", "json", "--data-dir", dir).Expect(t, 0).Out)
	if len(one.Runs) != 30 || len(one.Quota) < 30 {
		t.Errorf("got %d runs and %d windows", len(one.Runs), len(one.Quota))
	}
}
