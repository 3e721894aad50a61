package testkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// startTime is long: other tests may keep the machine busy.
	startTime = 10 * time.Minute
	// stopTime is how long a server may take to end when it is asked to.
	stopTime = 5 * time.Minute
	// askInterval is how often a starting server is asked whether it answers.
	askInterval = 20 * time.Millisecond
	// portTries is how often a server may find that somebody else took its port.
	portTries = 3
)

// errEnded is that of a server that does not stay, as it does when its port is
// taken.
var errEnded = errors.New("ended when it was started")

// program is how servers of a kind are run.
type program struct {
	name string
	path string
	// arguments are those for a data folder and a port.
	arguments func(data string, port int) []string
	// environment is added to that of the tests.
	environment []string
	// prepare fills a new data folder, if there is something to fill it with.
	prepare func(data string) error
	// answers asks a server once whether it is ready.
	answers func(ctx context.Context, port int) error
	// user, if set, is who runs it.
	user *account
	// family says that it starts processes of its own, which are meant too when
	// it is killed or paused.
	family bool
	// stopSignal asks it to end; 0 is SIGTERM.
	stopSignal syscall.Signal
	// leave, if set, gives back what a killed server has left outside of its
	// folder.
	leave func(data string)
}

// process is a server that runs, or ran and can run again.
type process struct {
	kit     *kit
	program program
	folder  string
	port    int

	mu      sync.Mutex
	command *exec.Cmd
	gone    chan struct{} // closed when command has ended
}

// launch starts a new server with empty data.
func (k *kit) launch(prog program) (*process, error) {
	var err error
	for range portTries {
		var p *process
		if p, err = k.newProcess(prog); err != nil {
			return nil, err
		}
		if err = p.start(); err == nil {
			return p, nil
		}
		p.discard()
		if !errors.Is(err, errEnded) {
			break
		}
	}
	return nil, err
}

func (k *kit) newProcess(prog program) (*process, error) {
	work, err := k.open()
	if err != nil {
		return nil, err
	}
	folder, err := work.folder(prog.name)
	if err != nil {
		return nil, err
	}
	port, err := work.port()
	if err != nil {
		return nil, err
	}
	p := &process{kit: k, program: prog, folder: folder, port: port}
	if err := os.Mkdir(p.data(), 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder of %s: %w", prog.name, err)
	}
	if prog.prepare != nil {
		if err := prog.prepare(p.data()); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *process) data() string { return filepath.Join(p.folder, "data") }

func (p *process) logFile() string { return filepath.Join(p.folder, "log") }

// start starts the server and waits until it answers.
func (p *process) start() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	gone, err := p.run()
	if err != nil {
		return err
	}
	ticker := time.NewTicker(askInterval)
	defer ticker.Stop()
	for {
		failure := p.program.answers(ctx, p.port)
		select {
		case <-gone:
			return fmt.Errorf("%s %w; its log ends with:\n%s", p.program.name, errEnded, p.logTail())
		default:
		}
		if failure == nil {
			return nil
		}
		select {
		case <-gone:
		case <-ticker.C:
		case <-ctx.Done():
			p.kill()
			return fmt.Errorf("%s does not answer within %v (%w); its log ends with:\n%s", p.program.name, startTime, failure, p.logTail())
		}
	}
}

// run starts the process and watches for its end.
func (p *process) run() (<-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command != nil {
		return nil, fmt.Errorf("%s runs already", p.program.name)
	}
	log, err := os.OpenFile(p.logFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", p.program.name, err)
	}
	defer func() { _ = log.Close() }()
	// The server lives longer than any one call: there is no context to end it.
	command := exec.CommandContext(context.Background(), p.program.path, p.program.arguments(p.data(), p.port)...)
	command.Dir, command.Stdout, command.Stderr = p.folder, log, log
	if len(p.program.environment) > 0 {
		command.Env = append(os.Environ(), p.program.environment...)
	}
	p.program.user.run(command)
	if err := p.kit.spawner.start(command); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.program.name, err)
	}
	gone := make(chan struct{})
	p.command, p.gone = command, gone
	p.kit.watch(p, true)
	go func() {
		// How it ended is in its log; that it has is all that counts.
		_ = command.Wait()
		close(gone)
	}()
	return gone, nil
}

// watch adds a process to those that must not outlive the tests, or takes it
// off.
func (k *kit) watch(p *process, runs bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if runs {
		k.processes[p] = true
	} else {
		delete(k.processes, p)
	}
}

// signal sends a signal if the server runs.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command == nil {
		return
	}
	// It fails if the process has just ended, which is no concern.
	_ = p.command.Process.Signal(s)
	if p.program.family && (s == syscall.SIGSTOP || s == syscall.SIGCONT) {
		for _, pid := range children(p.command.Process.Pid) {
			_ = syscall.Kill(pid, s)
		}
	}
	if s == syscall.SIGSTOP {
		awaitStopped(p.command.Process.Pid)
	}
}

// awaitStopped waits until all threads of a child have stopped: those that are on a
// processor go on for a moment after the signal, and may answer somebody.
func awaitStopped(pid int) {
	const ofProcess, stopped, leaveIt = 1, 2, 0x1000000 // P_PID, WSTOPPED, WNOWAIT
	if runtime.GOOS != "linux" {
		return
	}
	for {
		_, _, err := syscall.Syscall6(syscall.SYS_WAITID, ofProcess, uintptr(pid), 0, stopped|leaveIt, 0, 0)
		if err != syscall.EINTR {
			return
		}
	}
}

// kill ends the server at once and waits until it is gone.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command == nil {
		return
	}
	var others []int
	if p.program.family {
		// One that is stopped starts no others.
		_ = p.command.Process.Signal(syscall.SIGSTOP)
		others = children(p.command.Process.Pid)
	}
	_ = p.command.Process.Kill()
	for _, pid := range others {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-p.gone
	awaitEnd(others)
	p.command = nil
}

// stop asks the server to end and waits until it has.
func (p *process) stop() error {
	p.signal(cmp.Or(p.program.stopSignal, syscall.SIGTERM))
	p.signal(syscall.SIGCONT)
	p.mu.Lock()
	gone := p.gone
	p.mu.Unlock()
	select {
	case <-gone:
		p.kill()
		return nil
	case <-time.After(stopTime):
		p.kill()
		return fmt.Errorf("%s did not stop within %v; its log ends with:\n%s", p.program.name, stopTime, p.logTail())
	}
}

// discard ends the server for good and removes its data.
func (p *process) discard() {
	p.kill()
	p.kit.watch(p, false)
	p.kit.work.release(p.port)
	if p.program.leave != nil {
		p.program.leave(p.data())
	}
	// What cannot be removed now is removed with everything else in the end.
	_ = os.RemoveAll(p.folder)
}

// logTail returns the last lines of the log.
func (p *process) logTail() string {
	const lines = 30
	text, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
