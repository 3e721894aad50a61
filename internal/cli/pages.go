package cli

import (
	"fmt"
	"strings"
)

// showPage tells where a browser shows what a command is about: on standard error,
// in one line, where a service that goes on after the command has the data.
func (a *App) showPage(o *options, s *session, format string, args ...any) {
	if s.at == "" || o.json() {
		return
	}
	say(a.screen, "in a browser: %s%s\n", strings.TrimRight(s.at, "/"), fmt.Sprintf(format, args...))
}

// showRunPage tells the page of a run, or that of all where there are several.
func (a *App) showRunPage(o *options, s *session, runs []int64) {
	if len(runs) == 1 {
		a.showPage(o, s, "/runs/%d", runs[0])
	} else {
		a.showPage(o, s, "/runs?active=true")
	}
}
