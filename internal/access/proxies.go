package access

import (
	"net/netip"
	"strings"

	"sluice/internal/domain"
)

// ParseProxies reads a list of addresses and networks with commas between them,
// such as 10.0.0.0/8,::1.
func ParseProxies(text string) (proxies []netip.Prefix, err error) {
	for one := range strings.SplitSeq(text, ",") {
		one = strings.TrimSpace(one)
		if one == "" {
			continue
		}
		if address, err := netip.ParseAddr(one); err == nil {
			proxies = append(proxies, netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen()))
			continue
		}
		network, err := netip.ParsePrefix(one)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "%q is neither an address such as 10.0.0.2 nor a network such as 10.0.0.0/8", one)
		}
		proxies = append(proxies, network.Masked())
	}
	return proxies, nil
}
