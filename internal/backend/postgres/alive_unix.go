//go:build unix

package postgres

import (
	"errors"
	"net"
	"syscall"
)

// isQuiet reports whether there is nothing to be read, and no end. It asks the
// kernel, not the server.
func isQuiet(conn net.Conn) bool {
	has, ok := conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := has.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	// Not with raw.Read, which waits for whoever reads already: see limited.
	err = raw.Control(func(fd uintptr) {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = errors.Is(err, syscall.EAGAIN)
	})
	return err == nil && quiet
}
