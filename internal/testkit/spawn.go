package testkit

import (
	"os/exec"
	"runtime"
)

// spawner starts processes that die with this one. Linux sends a child its
// parent-death signal when the thread that started it ends, not when the
// process does, and the Go runtime may end threads at any time. So one
// goroutine starts them all and keeps its thread for as long as the process
// lives.
type spawner struct{ requests chan spawnRequest }

type spawnRequest struct {
	command *exec.Cmd
	done    chan error
}

func newSpawner() *spawner {
	s := &spawner{make(chan spawnRequest)}
	go s.run()
	return s
}

func (s *spawner) run() {
	runtime.LockOSThread()
	for r := range s.requests {
		r.done <- r.command.Start()
	}
}

// start starts a command that is killed when this process ends.
func (s *spawner) start(command *exec.Cmd) error {
	dieWithParent(command)
	r := spawnRequest{command, make(chan error, 1)}
	s.requests <- r
	return <-r.done
}
