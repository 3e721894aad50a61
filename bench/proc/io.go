package proc

import "os"

// Written is how many bytes this process has caused to be written to disks,
// when they became due to be and not when they were.
func Written() (int64, error) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, err
	}
	return parseStatus(string(text), "write_bytes")
}
