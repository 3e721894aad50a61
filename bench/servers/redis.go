package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Redis returns the address of a Redis server in its default configuration:
// snapshots from time to time, no append-only file.
func (s *Set) Redis(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.redis != "" {
		return s.redis, nil
	}
	dir := filepath.Join(s.dir, "redis")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	port, err := freePort(ctx)
	if err != nil {
		return "", err
	}
	// The server outlives the benchmark that asked for it first.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", dir)
	p, err := launch(Redis, dir, cmd, syscall.SIGTERM)
	if err != nil {
		return "", err
	}
	s.running = append(s.running, p)
	addr := net.JoinHostPort("127.0.0.1", port)
	if err := p.await(ctx, func(ctx context.Context) error { return ping(ctx, addr) }); err != nil {
		return "", err
	}
	s.redis = addr
	fmt.Fprintf(s.log, "bench: redis-server at %s, default settings (RDB snapshots, no append-only file)\n", addr)
	return addr, nil
}

func ping(ctx context.Context, addr string) (err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := fmt.Fprint(conn, "PING\r\n"); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(answer, "+PONG") {
		return fmt.Errorf("redis answered %q", strings.TrimSpace(answer))
	}
	return nil
}
