package webhook_test

import (
	"net"
	"net/url"
	"strconv"
	"strings"
)

// reachesInside judges an accepted address with the standard library's older
// words for addresses and the C library's way to read IPv4. It returns why the
// address should not have been accepted; "" if it may.
func reachesInside(address string) string {
	target, err := url.Parse(address)
	if err != nil || target.Host == "" || target.User != nil || target.Scheme != "http" && target.Scheme != "https" {
		return "no address of a receiver"
	}
	host, _, _ := strings.Cut(strings.ToLower(strings.TrimRight(target.Hostname(), ".")), "%")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return "localhost"
	}
	ip := net.ParseIP(host)
	if ip == nil {
		ip = loosely(host)
	}
	switch {
	case ip == nil:
		return ""
	case ip.IsPrivate() || ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || !ip.IsGlobalUnicast():
		return "an address of a closed network"
	}
	four := ip.To4()
	switch {
	case four != nil && strings.Contains(host, ":"):
		return "an IPv4-mapped address"
	case four != nil && (four[0] == 0 || four[0] >= 240 || four[0] == 100 && four[1]>>6 == 1 || four[0] == 198 && four[1]>>1 == 9):
		return "an address that is reserved"
	case four == nil && ip[0]>>5 != 1:
		return "an address of IPv6 that is not open"
	}
	return ""
}

// loosely reads IPv4 as the C library does: one to four numbers of any base, of
// which the last fills what is left. It returns nil for what is none.
func loosely(host string) net.IP {
	parts := strings.Split(host, ".")
	if len(parts) > net.IPv4len {
		return nil
	}
	var value uint64
	for i, part := range parts {
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (net.IPv4len - i)
		}
		n, err := strconv.ParseUint(part, 0, bits)
		if err != nil || strings.Contains(part, "_") || strings.HasPrefix(part, "0b") || strings.HasPrefix(part, "0o") {
			return nil
		}
		value = value<<bits | n
	}
	return net.IPv4(byte(value>>24), byte(value>>16), byte(value>>8), byte(value))
}
