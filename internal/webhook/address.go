package webhook

import (
	"net/netip"
	"strings"
	"syscall"
)

// network is a range of addresses that nothing is sent to.
type network struct {
	prefix netip.Prefix
	kind   string
}

// closed are the networks that are not the open internet, from the registries
// of special addresses (RFC 6890 and what followed it).
func closed() []network {
	list := func(kind string, prefixes ...string) []network {
		networks := make([]network, len(prefixes))
		for i, prefix := range prefixes {
			networks[i] = network{netip.MustParsePrefix(prefix), kind}
		}
		return networks
	}
	var all []network
	for _, some := range [][]network{
		list("unspecified", "0.0.0.0/8", "::/128"),
		list("loopback", "127.0.0.0/8", "::1/128"),
		list("private", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
		list("link-local", "169.254.0.0/16", "fe80::/10"),
		list("carrier-grade NAT", "100.64.0.0/10"),
		list("benchmark", "198.18.0.0/15"),
		list("documentation", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
		list("multicast", "224.0.0.0/4", "ff00::/8"),
		// 2001::/23 has Teredo, and 2002::/16 is 6to4: both hide an IPv4
		// address. 192.88.99.0/24 is a relay of the latter.
		list("reserved", "192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4", "2001::/23", "2002::/16"),
	} {
		all = append(all, some...)
	}
	return all
}

var (
	closedNetworks = closed()
	// openIPv6 has all addresses of IPv6 that were given out for the open
	// internet; whatever else there is, now or later, is not.
	openIPv6 = netip.MustParsePrefix("2000::/3")
	// nat64 leads to the IPv4 address in its last four bytes.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

// closedKind says what kind of address it is that nothing is sent to; "" for
// one of the open internet. An address that embeds another is judged by that:
// where names are resolved for a network of IPv6 alone, all IPv4 is embedded.
func closedKind(address netip.Addr) string {
	address = address.Unmap().WithZone("")
	if nat64.Contains(address) {
		bytes := address.As16()
		address = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	for _, n := range closedNetworks {
		if n.prefix.Contains(address) {
			return n.kind
		}
	}
	if address.Is4() || openIPv6.Contains(address) {
		return ""
	}
	return "reserved"
}

// literalKind judges an address that stands in a URL. There is no reason to
// write one in another's clothes but to hide it.
func literalKind(address netip.Addr) string {
	switch {
	case address.Is4In6():
		return "IPv4-mapped"
	case nat64.Contains(address.WithZone("")):
		return "NAT64"
	case address.Zone() != "":
		return "link-local"
	default:
		return closedKind(address)
	}
}

// looksLikeIPv4 reports whether some program would read a name in lower case as
// an IPv4 address: browsers, curl and the C library do so if its last part is a
// number, in octal and hexadecimal too.
func looksLikeIPv4(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if digits, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// refusal is why an address is not dialled.
type refusal struct{ kind string }

// Error implements error.
func (r *refusal) Error() string {
	return "the address is refused: it leads to one outside the public internet (" + r.kind +
		"); start with --webhook-allow-private to allow that"
}

// judgeConnection judges the address that is about to be connected to. By now
// names are resolved, so that no answer of a name server comes after it.
func (s *Sender) judgeConnection(_, address string, _ syscall.RawConn) error {
	if s.options.AllowPrivate {
		return nil
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return &refusal{"unknown"}
	}
	if kind := closedKind(to.Addr()); kind != "" {
		return &refusal{kind}
	}
	return nil
}
