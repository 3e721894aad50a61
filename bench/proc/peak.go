package proc

import (
	"os"
	"path/filepath"
	"strconv"
)

// Peak is the most memory of a process that ever was in RAM, in bytes. The
// figure that wait4 gives at its end is no substitute: it also counts what the
// parent had when it forked.
func Peak(pid int) (int64, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	kilobytes, err := parseStatus(string(text), "VmHWM")
	return kilobytes << 10, err
}
