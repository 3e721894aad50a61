//go:build !unix

package postgres

import "net"

// isQuiet: elsewhere than on Unix, the first statement finds out.
func isQuiet(net.Conn) bool { return true }
