// Command serve runs a command with the servers of the test kit:
//
//	go run ./internal/testkit/serve COMMAND [ARGUMENT…]
//
// The command finds in its environment where they are: TESTKIT_MARIADB,
// TESTKIT_REDIS, TESTKIT_REDIS_CLUSTER (URLs) and TESTKIT_KAFKA (HOST:PORT).
// They are empty when it begins, and stopped when it has ended. The exit code is
// the command's.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"sluice/internal/testkit"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: serve COMMAND [ARGUMENT…]")
		os.Exit(2)
	}
	// The command gets them as well, and ends; then the servers are stopped.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
	code := 0
	err := testkit.Outside(context.Background(), func(a testkit.Addresses) (err error) {
		code, err = run(a, os.Args[1:])
		return err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run runs the command to its end and returns its exit code.
func run(a testkit.Addresses, command []string) (int, error) {
	c := exec.CommandContext(context.Background(), command[0], command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = append(os.Environ(),
		"TESTKIT_MARIADB="+a.MariaDB, "TESTKIT_REDIS="+a.Redis, "TESTKIT_REDIS_CLUSTER="+a.RedisCluster,
		"TESTKIT_KAFKA="+strings.Join(testkit.KafkaBrokers(a.Kafka), ","))
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode(), nil
	}
	return 0, err
}
