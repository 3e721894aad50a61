package testkit

import (
	"errors"
	"strings"
	"testing"
)

// TestAServerThatDoesNotComeUp: its own words are the ones that help.
func TestAServerThatDoesNotComeUp(t *testing.T) {
	prog, err := redisProgram("--no-such-setting", "1")
	if err != nil {
		current.refuse(t, err)
	}
	p, err := current.launch(prog)
	if p != nil || !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("got %v, want the end of its log", err)
	}
}
