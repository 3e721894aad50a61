package timers_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"sluice/internal/testkit/sluice"
	"sluice/internal/timer"
)

// watching is `sluice timer watch` in both of its forms.
type watching struct {
	t    *testing.T
	text *exec.Cmd
	json *exec.Cmd
	out  [2]*bufio.Scanner
}

func watchTimers(t *testing.T, dir string) *watching {
	t.Helper()
	w := &watching{t: t}
	begin := func(i int, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), sluice.Binary, append([]string{"timer", "watch", "--data-dir", dir}, args...)...)
		cmd.Env = sluice.Environment()
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		w.out[i] = bufio.NewScanner(out)
		return cmd
	}
	w.text, w.json = begin(0), begin(1, "--output", "json")
	return w
}

// await blocks until both have told of a timer.
func (w *watching) await(id string) {
	w.t.Helper()
	for w.out[0].Scan() && !strings.Contains(w.out[0].Text(), id) {
	}
	if !strings.Contains(w.out[0].Text(), " late, by ") {
		w.t.Errorf("the line is %q", w.out[0].Text())
	}
	var c timer.Completion
	for c.Timer != id && w.out[1].Scan() {
		if err := json.Unmarshal(w.out[1].Bytes(), &c); err != nil {
			w.t.Fatalf("%v in %q", err, w.out[1].Text())
		}
	}
	if c.Timer != id || c.FiredAt.IsZero() || c.Server == "" {
		w.t.Errorf("told of %+v", c)
	}
}

// ends breaks both off, as a person would.
func (w *watching) ends() {
	w.t.Helper()
	for i, cmd := range []*exec.Cmd{w.text, w.json} {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			w.t.Fatal(err)
		}
		for w.out[i].Scan() {
		}
		if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 130 {
			w.t.Errorf("it ended with %v", err)
		}
	}
}
