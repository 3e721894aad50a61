package testkit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// Ports lie below those that the operating system gives to outgoing
// connections: a server that is down for a while must find its port free.
const (
	firstPort = 21_000
	portCount = 11_000
)

// workspace is the folder and the ports of one test process. All of them lie
// in one folder of the temporary folder, so that a process finds what others
// that were killed have left, and removes it.
type workspace struct {
	base, dir string
	lock      *os.File

	mu     sync.Mutex
	ports  map[int]*os.File
	number int
}

func openWorkspace() (*workspace, error) {
	base := filepath.Join(os.TempDir(), "sluice-testkit-"+strconv.Itoa(os.Getuid()))
	if err := os.MkdirAll(filepath.Join(base, "ports"), 0o700); err != nil {
		return nil, fmt.Errorf("make the tests' folder: %w", err)
	}
	// Nobody must take a folder that is made but not locked yet for a leftover.
	gate, err := lockFile(filepath.Join(base, "gate"), true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = gate.Close() }()
	sweep(base)
	dir, err := os.MkdirTemp(base, "run-")
	if err != nil {
		return nil, fmt.Errorf("make the tests' folder: %w", err)
	}
	lock, err := lockFile(filepath.Join(dir, "lock"), false)
	if err != nil {
		return nil, err
	}
	return &workspace{base: base, dir: dir, lock: lock, ports: map[int]*os.File{}}, nil
}

// sweep removes the folders of processes that are gone. What it cannot remove
// is the next one's business.
func sweep(base string) {
	left, err := filepath.Glob(filepath.Join(base, "run-*"))
	if err != nil {
		return
	}
	for _, dir := range left {
		if lock, err := lockFile(filepath.Join(dir, "lock"), false); err == nil {
			servers, _ := filepath.Glob(filepath.Join(dir, "postgres-*", "data"))
			for _, data := range servers {
				freeSharedMemory(data)
			}
			_ = os.RemoveAll(dir)
			_ = lock.Close()
		}
	}
}

// remove removes the folder and gives the ports back.
func (w *workspace) remove() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	errs := []error{os.RemoveAll(w.dir), w.lock.Close()}
	for _, lock := range w.ports {
		errs = append(errs, lock.Close())
	}
	return errors.Join(errs...)
}

// folder makes a new folder for a server.
func (w *workspace) folder(name string) (string, error) {
	w.mu.Lock()
	w.number++
	dir := filepath.Join(w.dir, fmt.Sprintf("%s-%d", name, w.number))
	w.mu.Unlock()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a folder: %w", err)
	}
	return dir, nil
}

// port takes a free port for as long as this process lives.
func (w *workspace) port() (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	start := rand.IntN(portCount)
	for i := range portCount {
		port := firstPort + (start+i)%portCount
		if w.ports[port] != nil {
			continue
		}
		lock, err := lockFile(filepath.Join(w.base, "ports", strconv.Itoa(port)), false)
		if err != nil {
			continue
		}
		if !free(port) {
			_ = lock.Close()
			continue
		}
		w.ports[port] = lock
		return port, nil
	}
	return 0, errors.New("no port is free")
}

// release gives a port back.
func (w *workspace) release(port int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if lock := w.ports[port]; lock != nil {
		_ = lock.Close()
		delete(w.ports, port)
	}
}

func free(port int) bool {
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", address(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// lockFile locks a file against other processes, or says that it is locked.
// The kernel frees the lock when the process dies, however it dies.
func lockFile(path string, wait bool) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err = syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file, nil
}
