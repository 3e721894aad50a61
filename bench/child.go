package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"sluice/bench/peer"
)

// childCommand makes this program do one thing in a process of its own, where
// its memory and its processor time can be told from everything else's.
const childCommand = "child"

// readyLine is what a child prints when it idles.
const readyLine = "ready"

func child(ctx context.Context, args []string, out io.Writer) error {
	if len(args) < 2 {
		return errors.New("a child needs a task and its argument")
	}
	ready := func() { fmt.Fprintln(out, readyLine) }
	switch task, argument := args[0], args[1]; task {
	case "pending":
		if len(args) < 3 {
			return errors.New("pending needs a folder and a count")
		}
		claims, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		figures, err := startPending(ctx, argument, claims)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(figures)
	case "timers":
		if len(args) < 3 {
			return errors.New("timers needs a folder and a span")
		}
		span, err := time.ParseDuration(args[2])
		if err != nil {
			return err
		}
		figures, err := holdTimers(ctx, argument, span)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(figures)
	case "idle-nothing":
		ready()
		<-ctx.Done()
		return nil
	case "idle-asynq":
		return peer.NewAsynq(argument).Idle(ctx, durableWorkers, ready)
	case "idle-river-sqlite":
		return peer.NewRiverSQLite(argument).Idle(ctx, durableWorkers, ready)
	case "idle-river-postgres":
		return peer.NewRiverPostgres(argument).Idle(ctx, durableWorkers, ready)
	case "machine":
		return runMachine(ctx, argument, out)
	case "work-asynq":
		if len(args) < 4 {
			return errors.New("work-asynq needs an address, a queue and what to do")
		}
		return workAsynq(ctx, argument, args[2], args[3] == "stall", out)
	default:
		return fmt.Errorf("there is no task %q", task)
	}
}

// childProcess prepares this program as a child.
func childProcess(ctx context.Context, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{childCommand}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// idler is a child that has nothing to do.
type idler struct {
	name string
	cmd  *exec.Cmd
}

// startIdler starts a child and waits until it idles. It ends with ctx.
func startIdler(ctx context.Context, name, task, argument string) (*idler, error) {
	cmd, err := childProcess(ctx, task, argument)
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != readyLine+"\n" {
		return nil, fmt.Errorf("%s did not start: %w", name, errors.Join(err, cmd.Process.Kill(), cmd.Wait()))
	}
	return &idler{name, cmd}, nil
}

// wait collects a child that was told to end.
func (i *idler) wait() error {
	err := i.cmd.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
