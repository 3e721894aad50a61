package testkit

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// children returns the processes that a process has started, where /proc tells.
func children(parent int) (pids []int) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, file := range files {
		state, of := processState(file)
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && of == parent && state != 'Z' {
			pids = append(pids, pid)
		}
	}
	return pids
}

// processState reads the state and the parent of a process: 0, 0 if it is gone.
func processState(file string) (state byte, parent int) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0
	}
	// The name, in parentheses, may hold anything.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0, 0
	}
	parent, err = strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0, 0
	}
	return fields[0][0], parent
}

// awaitEnd waits until processes that were killed are gone, or nearly so: who
// inherited them may be slow to bury them.
func awaitEnd(pids []int) {
	deadline := time.Now().Add(stopTime)
	for _, pid := range pids {
		file := filepath.Join("/proc", strconv.Itoa(pid), "stat")
		for time.Now().Before(deadline) {
			if state, _ := processState(file); state == 0 || state == 'Z' || state == 'X' {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}
