package cli

import (
	"io"
	"sync"
)

// screen is where messages and the redrawn board meet. Whoever writes a message
// pushes the board down: it is drawn anew below.
type screen struct {
	mu     sync.Mutex
	out    io.Writer
	pushed bool
}

// Write implements io.Writer for everything but the board.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pushed = true
	return s.out.Write(b)
}

// draw writes the board; render is told whether the last one still stands
// right above the cursor.
func (s *screen) draw(render func(stands bool) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.out, render(!s.pushed)) // a terminal that is gone needs no progress
	s.pushed = false
}
