// Package proc reads what Linux knows about a process: the processor time it
// took, how often its threads slept and were woken, and its memory.
package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// TicksPerSecond is the resolution of /proc/PID/stat on every Linux that Go
// supports (USER_HZ).
const TicksPerSecond = 100

// Usage is what a process has used since it began.
type Usage struct {
	// Ticks is user and system time in /proc/PID/stat, in 1/TicksPerSecond s.
	Ticks int64
	// Run is the time its threads ran, from the scheduler, in nanoseconds. It
	// leaves out threads that have ended.
	Run time.Duration
	// Voluntary counts how often a thread gave the processor up to wait, so
	// it bounds from above how often one was woken.
	Voluntary int64
}

// Sub is what was used between an earlier reading and this one.
func (u Usage) Sub(earlier Usage) Usage {
	return Usage{u.Ticks - earlier.Ticks, u.Run - earlier.Run, u.Voluntary - earlier.Voluntary}
}

// Read reads the usage of a process.
func Read(pid int) (Usage, error) {
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	text, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return Usage{}, err
	}
	u := Usage{}
	if u.Ticks, err = parseTicks(string(text)); err != nil {
		return Usage{}, err
	}
	threads, err := filepath.Glob(filepath.Join(folder, "task", "*"))
	if err != nil {
		return Usage{}, err
	}
	for _, thread := range threads {
		err := u.addThread(thread)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			return Usage{}, err // a thread that has just ended is left out
		}
	}
	return u, nil
}

func (u *Usage) addThread(thread string) error {
	run, err := readRun(thread)
	if err != nil {
		return err
	}
	status, err := os.ReadFile(filepath.Join(thread, "status"))
	if err != nil {
		return err
	}
	switches, err := parseStatus(string(status), "voluntary_ctxt_switches")
	if err != nil {
		return err
	}
	u.Run += run
	u.Voluntary += switches
	return nil
}

// parseTicks adds up fields 14 and 15 of a stat line. The program's name may
// hold anything, so fields are counted from its closing bracket.
func parseTicks(stat string) (int64, error) {
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	if end < 0 || len(fields) < 13 {
		return 0, fmt.Errorf("unexpected stat line %q", stat)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return user + system, err
}

func readRun(thread string) (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join(thread, "schedstat"))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) == 0 {
		return 0, fmt.Errorf("unexpected schedstat of %s: %q", thread, text)
	}
	run, err := strconv.ParseInt(fields[0], 10, 64)
	return time.Duration(run), err
}

// parseStatus finds a number in a status file, without its unit.
func parseStatus(status, name string) (int64, error) {
	for line := range strings.Lines(status) {
		value, found := strings.CutPrefix(line, name+":")
		if !found {
			continue
		}
		fields := strings.Fields(value)
		if len(fields) == 0 {
			break
		}
		return strconv.ParseInt(fields[0], 10, 64)
	}
	return 0, fmt.Errorf("there is no %s in the status", name)
}

// Resident is how much memory of a process is in RAM now, in bytes.
func Resident(pid int) (int64, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	kilobytes, err := parseStatus(string(text), "VmRSS")
	return kilobytes << 10, err
}

// Self is the processor time this process has used, all threads, ended ones
// included.
func Self() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// OnDisk returns a folder for temporary files on a real disk: the usual one, or
// /var/tmp where the usual one is memory, as an fsync there costs nothing.
func OnDisk() string {
	const tmpfs = 0x01021994
	var stat syscall.Statfs_t
	if err := syscall.Statfs(os.TempDir(), &stat); err == nil && stat.Type == tmpfs {
		return "/var/tmp"
	}
	return os.TempDir()
}
