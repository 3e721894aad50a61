package redisinfo

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
)

// Monitor counts the commands that clients send. It tells them from those that
// scripts execute, which commandstats does not.
type Monitor struct {
	conn  net.Conn
	ended chan struct{}

	mu   sync.Mutex
	sent map[string]int64
}

// Watch begins to count. The caller stops it.
func Watch(ctx context.Context, addr string) (*Monitor, error) {
	conn, err := dial(ctx, addr, "MONITOR")
	if err != nil {
		return nil, err
	}
	from := bufio.NewReader(conn)
	if answer, err := reply(from); err != nil || answer != "OK" {
		return nil, fmt.Errorf("redis: MONITOR: %q, %w", answer, err)
	}
	m := &Monitor{conn: conn, ended: make(chan struct{}), sent: map[string]int64{}}
	go m.count(from)
	return m, nil
}

func (m *Monitor) count(from *bufio.Reader) {
	defer close(m.ended)
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			return // it was stopped
		}
		if name := sentCommand(line); name != "" {
			m.mu.Lock()
			m.sent[name]++
			m.mu.Unlock()
		}
	}
}

// sentCommand returns the name of a command that a client sent, "" for one of
// a script or of this package. A line is like
//
//	+1339518083.107412 [0 127.0.0.1:60866] "keys" "*"
func sentCommand(line string) string {
	_, rest, found := strings.Cut(line, " [")
	who, rest, closed := strings.Cut(rest, "] ")
	if !found || !closed || strings.HasSuffix(who, " lua") {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(rest), `"`), `"`)
	name = strings.ToLower(name)
	if name == "info" || name == "monitor" {
		return ""
	}
	return name
}

// Stop ends it and returns what was sent, by the command's name.
func (m *Monitor) Stop() (map[string]int64, error) {
	err := m.conn.Close()
	<-m.ended
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sent, err
}
