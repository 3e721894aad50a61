package testkit

import "testing"

// FreeAddress returns an address of loopback at which nothing listens, and that
// nobody else is given until the test ends: not by the operating system either,
// as a port would be that was taken and closed again.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	work, err := current.open()
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	port, err := work.port()
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	tb.Cleanup(func() { work.release(port) })
	return address(port)
}
