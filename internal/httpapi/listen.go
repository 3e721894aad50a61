package httpapi

import (
	"errors"
	"net"
	"syscall"

	"sluice/internal/domain"
)

// DefaultAddress is where the service listens unless told otherwise.
const DefaultAddress = "127.0.0.1:8090"

// Listen opens the address, DefaultAddress if it is empty. An address that
// other machines can reach is refused without a token.
func Listen(addr, token string) (net.Listener, error) {
	if addr == "" {
		addr = DefaultAddress
	}
	// What was checked is what is opened: a name is looked up once.
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "%q is not an address to listen on, such as %s: %w", addr, DefaultAddress, err)
	}
	if token == "" && !resolved.IP.IsLoopback() {
		return nil, domain.Errorf(domain.CodeInvalid,
			"%s can be reached from other machines, which needs --api-token; or listen on %s", addr, DefaultAddress)
	}
	l, err := net.ListenTCP("tcp", resolved)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, domain.Errorf(domain.CodeConflict, "something listens on %s already; choose another address: %w", addr, err)
	}
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "listen on %s: %w", addr, err)
	}
	return l, nil
}
