package testkit

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// freeSharedMemory removes the segment of shared memory that a PostgreSQL which
// was killed has left behind: a machine has few of them, and nobody else would.
// Its number is the second one in the seventh line of the server's lock file.
func freeSharedMemory(data string) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return // it ended in order
	}
	lines := bytes.Split(text, []byte("\n"))
	const line = 6
	if len(lines) <= line {
		return
	}
	fields := bytes.Fields(lines[line])
	if len(fields) != 2 {
		return
	}
	if id, err := strconv.ParseUint(string(fields[1]), 10, 31); err == nil {
		const remove = 0 // IPC_RMID
		// It fails if another has removed it, which is as good.
		_, _, _ = syscall.Syscall(syscall.SYS_SHMCTL, uintptr(id), remove, 0)
	}
}
