package testkit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Redis returns the URL (redis://127.0.0.1:PORT) of a Redis that the tests of
// this process share; use a key prefix of your own (Prefix).
func Redis(tb testing.TB) string {
	tb.Helper()
	url := current.use(tb, "redis", func() (string, error) {
		prog, err := redisProgram()
		if err != nil {
			return "", err
		}
		p, err := current.launch(prog)
		if err != nil {
			return "", err
		}
		return redisURL(p.port), nil
	})
	current.sayRedis(tb)
	return url
}

// StartRedis starts a Redis for this test alone. It keeps nothing on disk
// unless the arguments, which are those of redis-server, say otherwise.
func StartRedis(tb testing.TB, args ...string) *Server {
	tb.Helper()
	prog, err := redisProgram(args...)
	if err != nil {
		current.refuse(tb, err)
	}
	server := current.serve(tb, prog, redisURL)
	current.sayRedis(tb)
	return server
}

func redisURL(port int) string { return "redis://" + address(port) }

func redisProgram(extra ...string) (program, error) {
	path, err := find("Redis", "redis-server")
	if err != nil {
		return program{}, err
	}
	return program{
		name: "redis",
		path: path,
		arguments: func(data string, port int) []string {
			return append([]string{
				"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", data, "--save", "", "--appendonly", "no",
			}, extra...)
		},
		answers: redisAnswers,
	}, nil
}

func (k *kit) sayRedis(tb testing.TB) {
	tb.Helper()
	if !k.once("version of Redis") {
		return
	}
	path, err := find("Redis", "redis-server")
	if err != nil {
		k.refuse(tb, err)
	}
	tb.Logf("Redis: %s", programVersion(path))
}

// programVersion is what a program says about itself.
func programVersion(path string) string {
	out, err := exec.CommandContext(context.Background(), path, "--version").CombinedOutput()
	if err != nil {
		return path + " of unknown version"
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

// redisAnswers tells whether a Redis has loaded its data. One that wants a
// password first has.
func redisAnswers(ctx context.Context, port int) error {
	reply, err := redisCommand(ctx, port, "PING")
	if err != nil && strings.HasPrefix(err.Error(), "NOAUTH") {
		return nil
	}
	if err == nil && reply != "PONG" {
		return fmt.Errorf("it says %q", reply)
	}
	return err
}

// redisCommand sends one command on a connection of its own. A client library
// would do more than is wanted here: it retries and follows redirections.
func redisCommand(ctx context.Context, port int, words ...string) (string, error) {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", address(port))
	if err != nil {
		return "", err
	}
	defer func() { _ = connection.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := connection.SetDeadline(deadline); err != nil {
			return "", err
		}
	}
	if _, err := io.WriteString(connection, strings.Join(words, " ")+"\r\n"); err != nil {
		return "", err
	}
	return redisReply(bufio.NewReader(connection))
}

// redisReply reads an answer that is a line or a text.
func redisReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	switch line[:min(1, len(line))] {
	case "+", ":":
		return line[1:], nil
	case "-":
		return "", errors.New(line[1:])
	case "$":
		size, err := strconv.Atoi(line[1:])
		if err != nil || size < 0 {
			return "", fmt.Errorf("a text of length %q", line[1:])
		}
		text := make([]byte, size)
		_, err = io.ReadFull(r, text)
		return string(text), err
	default:
		return "", fmt.Errorf("an answer like %q is not understood", line)
	}
}
