package webhook

import (
	"net"
	"net/url"
	"strings"
	"sync"
)

// TryAcquire takes one of the places that a host has, so that receivers that
// are slow or dead cannot take all senders. Without one it returns false at
// once. The release may be called more than once.
func (s *Sender) TryAcquire(address string) (release func(), ok bool) {
	host := hostOf(address)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.underWay[host] >= s.options.MaxPerHost {
		return nil, false
	}
	s.underWay[host]++
	return sync.OnceFunc(func() { s.release(host) }), true
}

func (s *Sender) release(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.underWay[host]--; s.underWay[host] == 0 {
		delete(s.underWay, host)
	}
}

// hostOf is the host and port that an address leads to. All that cannot be
// understood share one name: they are refused without a connection.
func hostOf(address string) string {
	target, err := url.Parse(address)
	if err != nil {
		return ""
	}
	port := target.Port()
	switch {
	case port != "":
	case target.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(strings.ToLower(strings.TrimSuffix(target.Hostname(), ".")), port)
}
