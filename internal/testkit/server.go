package testkit

import (
	"syscall"
	"testing"
)

// Server is a server of one test, which may end it and start it again. Its
// methods are for the test's own goroutine: they end the test when they fail.
type Server struct {
	tb      testing.TB
	process *process
	url     string
}

// serve makes a test the owner of a new server.
func (k *kit) serve(tb testing.TB, prog program, url func(port int) string) *Server {
	tb.Helper()
	p, err := k.launch(prog)
	if err != nil {
		k.refuse(tb, err)
	}
	tb.Cleanup(p.discard)
	return &Server{tb: tb, process: p, url: url(p.port)}
}

// URL returns where the server is. It stays the same when it is started again.
func (s *Server) URL() string { return s.url }

// Kill ends the server with SIGKILL and waits until it is gone.
func (s *Server) Kill() { s.process.kill() }

// Stop asks the server to end with SIGTERM and waits until it has.
func (s *Server) Stop() {
	s.tb.Helper()
	if err := s.process.stop(); err != nil {
		s.tb.Fatalf("testkit: %v", err)
	}
}

// Start starts the server again on its port and with its data, and waits until
// it answers.
func (s *Server) Start() {
	s.tb.Helper()
	if err := s.process.start(); err != nil {
		s.tb.Fatalf("testkit: %v", err)
	}
}

// Restart is Stop and Start.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Stop()
	s.Start()
}

// Pause stops the server with SIGSTOP: it is there but does not answer.
func (s *Server) Pause() { s.process.signal(syscall.SIGSTOP) }

// Continue lets a paused server go on.
func (s *Server) Continue() { s.process.signal(syscall.SIGCONT) }
