// Package redisinfo looks at a Redis server without a client library, whose
// own commands would be counted too.
package redisinfo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// Do sends one command on a connection of its own and returns the answer, a
// line or a text.
func Do(ctx context.Context, addr string, words ...string) (answer string, err error) {
	conn, err := dial(ctx, addr, words...)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return reply(bufio.NewReader(conn))
}

func dial(ctx context.Context, addr string, words ...string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, strings.Join(words, " ")+"\r\n"); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func reply(from *bufio.Reader) (string, error) {
	line, err := from.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	kind, rest := line[:min(1, len(line))], line[min(1, len(line)):]
	switch kind {
	case "+", ":":
		return rest, nil
	case "-":
		return "", errors.New("redis: " + rest)
	case "$":
		size, err := strconv.Atoi(rest)
		if err != nil || size < 0 {
			return "", fmt.Errorf("redis: a text of length %q", rest)
		}
		text := make([]byte, size)
		_, err = io.ReadFull(from, text)
		return string(text), err
	}
	return "", fmt.Errorf("redis: an answer like %q is not understood", line)
}

// Memory is how many bytes the server's data takes.
func Memory(ctx context.Context, addr string) (int64, error) {
	text, err := Do(ctx, addr, "INFO", "memory")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, "used_memory:"); found {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, errors.New("redis: INFO has no used_memory")
}

// Calls counts by name the commands that the server has executed, those of
// scripts included and those of this package left out.
func Calls(ctx context.Context, addr string) (map[string]int64, error) {
	text, err := Do(ctx, addr, "INFO", "commandstats")
	if err != nil {
		return nil, err
	}
	return parseCalls(text)
}

func parseCalls(text string) (map[string]int64, error) {
	calls := map[string]int64{}
	for line := range strings.Lines(text) {
		name, facts, found := strings.Cut(strings.TrimSpace(line), ":")
		name, known := strings.CutPrefix(name, "cmdstat_")
		if !found || !known || name == "info" || name == "monitor" {
			continue
		}
		number, _, _ := strings.Cut(strings.TrimPrefix(facts, "calls="), ",")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("redis: commandstats of %s: %q", name, facts)
		}
		calls[name] = n
	}
	return calls, nil
}
