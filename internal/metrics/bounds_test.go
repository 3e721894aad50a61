package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestReasonsAreBounded(t *testing.T) {
	b := newBoundedNames(3)
	for text, want := range map[string]string{
		"": other, "a reason in words": other, strings.Repeat("A", 41): other, "x\ny": other, `"}`: other,
	} {
		if got := b.name(text); got != want {
			t.Errorf("%q is %q", text, got)
		}
	}
	for i, want := range []string{"CODE0", "CODE1", "CODE2", other, other} {
		if got := b.name(fmt.Sprintf("CODE%d", i)); got != want {
			t.Errorf("reason %d is %q, want %q", i, got, want)
		}
	}
	if got := b.name("CODE1"); got != "CODE1" {
		t.Errorf("one that is known is %q", got)
	}
}

func TestFullestSecond(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f := newFullestSeconds()
	f.add("a", at, 3)
	f.add("a", at.Add(999*time.Millisecond), 4)
	f.add("a", at.Add(time.Second), 9)
	f.add("a", at.Add(time.Second), -4)
	if got := f.fullest(at.Add(2 * time.Second)); got["a"] != 7 {
		t.Errorf("the fullest second has %v", got)
	}
	if got := f.fullest(at.Add(60 * time.Second)); got["a"] != 5 {
		t.Errorf("after a minute the fullest second has %v", got)
	}
	f.add("a", at.Add(60*time.Second), 1) // in the first one's place
	if got := f.fullest(at.Add(61 * time.Second)); got["a"] != 1 {
		t.Errorf("later the fullest second has %v", got)
	}
}
