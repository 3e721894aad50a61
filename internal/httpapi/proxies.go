package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// behindProxies lets requests that a trusted proxy passes on come from where it
// says. What anybody else says of that is not believed.
func behindProxies(trusted []netip.Prefix, next http.Handler) http.Handler {
	if len(trusted) == 0 {
		return next
	}
	is := func(a netip.Addr) bool {
		return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := callerAddress(r).Unmap()
		if from.IsValid() && is(from) {
			if client := forwardedFor(r, is); client.IsValid() {
				r = r.WithContext(r.Context())
				r.RemoteAddr = netip.AddrPortFrom(client, 0).String()
			}
		}
		next.ServeHTTP(w, r)
	})
}

// forwardedFor is the last address that is not a proxy's own: what stands before
// it the caller may have made up.
func forwardedFor(r *http.Request, trusted func(netip.Addr) bool) (client netip.Addr) {
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		address, err := hopAddress(strings.TrimSpace(hop))
		if err != nil {
			return client
		}
		client = address.Unmap().WithZone("")
		if !trusted(client) {
			return client
		}
	}
	return client
}

// hopAddress reads an address, which some proxies write with its port or, in IPv6, in
// brackets.
func hopAddress(hop string) (netip.Addr, error) {
	if withPort, err := netip.ParseAddrPort(hop); err == nil {
		return withPort.Addr(), nil
	}
	if inside, opened := strings.CutPrefix(hop, "["); opened {
		if inside, closed := strings.CutSuffix(inside, "]"); closed {
			hop = inside
		}
	}
	return netip.ParseAddr(hop)
}
