package httpapi

import (
	"errors"
	"net"
	"syscall"

	"sluice/internal/domain"
)

// DefaultAddress is where the service listens unless told otherwise.
const DefaultAddress = "127.0.0.1:8090"

// Listen opens the address, DefaultAddress if it is empty. What other machines can
// reach (Exposed) is to be served with a token only.
func Listen(addr string) (net.Listener, error) {
	if addr == "" {
		addr = DefaultAddress
	}
	// What was checked is what is opened: a name is looked up once.
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "%q is not an address to listen on, such as %s: %w", addr, DefaultAddress, err)
	}
	l, err := net.ListenTCP("tcp", resolved)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, domain.Errorf(domain.CodeConflict, "%s is in use; choose another address: %w", addr, err)
	}
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "listen on %s: %w", addr, err)
	}
	return l, nil
}

// Exposed says whether other machines can reach a listener.
func Exposed(l net.Listener) bool {
	tcp, ok := l.Addr().(*net.TCPAddr)
	return !ok || !tcp.IP.IsLoopback()
}
