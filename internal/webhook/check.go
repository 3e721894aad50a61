package webhook

import (
	"context"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
)

// lookupTime is how long somebody who gives an address waits for its name to
// be looked up.
const lookupTime = 2 * time.Second

const allowFix = "give one that others can reach too, or start with --webhook-allow-private (of a target of notify: allow_private)"

// Check refuses what cannot be the address of a receiver, with code invalid. A
// name that cannot be looked up now is accepted: it is judged when it is
// dialled.
func (s *Sender) Check(ctx context.Context, address string) error {
	target, err := s.parse(address)
	if err != nil {
		return err
	}
	if s.sign == nil && !s.options.Unsigned {
		return errNoSecret()
	}
	name := target.Hostname()
	if _, err := netip.ParseAddr(name); s.options.AllowPrivate || err == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	found, err := s.options.Resolver.LookupNetIP(limited, "ip", name)
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	if err != nil {
		return nil // it may be known when it is needed
	}
	for _, each := range found {
		if kind := closedKind(each); kind != "" {
			return domain.Errorf(domain.CodeInvalid, "the webhook's host %s has an address outside the public internet (%s); %s", name, kind, allowFix)
		}
	}
	return nil
}

// parse judges an address by its text alone. No error repeats the address: it
// may hold a password or a token.
func (s *Sender) parse(text string) (*url.URL, error) {
	refuse := func(format string, args ...any) (*url.URL, error) {
		return nil, domain.Errorf(domain.CodeInvalid, format, args...)
	}
	target, err := url.Parse(text)
	switch {
	case err != nil:
		return refuse("the webhook cannot be parsed; give a URL like https://example.com/hook")
	case target.Scheme != "http" && target.Scheme != "https":
		return refuse("the webhook begins with neither https:// nor http://; give a URL like https://example.com/hook")
	case target.Hostname() == "" || target.Opaque != "":
		return refuse("the webhook has no host; give a URL like https://example.com/hook")
	case target.User != nil:
		return refuse("the webhook has a user or a password; leave them out: the receiver knows the sender by the signature")
	case strings.Contains(text, "#"):
		return refuse("the webhook has a fragment; leave out the # and what follows, which is never sent")
	}
	if port := target.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return refuse("the webhook's port is not one of 1 to 65535")
		}
	}
	if err := s.checkHost(target.Hostname()); err != nil {
		return nil, err
	}
	return target, nil
}

// checkHost judges a host by its text.
func (s *Sender) checkHost(host string) error {
	if address, err := netip.ParseAddr(host); err == nil {
		kind := literalKind(address)
		if kind == "" || s.options.AllowPrivate {
			return nil
		}
		return domain.Errorf(domain.CodeInvalid, "the webhook's address %s is outside the public internet (%s); %s", host, kind, allowFix)
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	switch {
	case !isName(name):
		return domain.Errorf(domain.CodeInvalid, "the webhook's host is not a valid name; use letters, digits and hyphens, separated by full stops. "+
			"Write one of another script as its ASCII form, which begins with xn--")
	case looksLikeIPv4(name):
		return domain.Errorf(domain.CodeInvalid, "the webhook's host ends with a number but is not an address; write an address as four decimal numbers, without a full stop at the end")
	case s.options.AllowPrivate:
		return nil
	case name == "localhost" || strings.HasSuffix(name, ".localhost"):
		return domain.Errorf(domain.CodeInvalid, "the webhook's host %s is this machine; %s", host, allowFix)
	default:
		return nil
	}
}

// isName reports whether a text in lower case can be a name to look up. Names
// with an underscore are used, though not everywhere.
func isName(text string) bool {
	const maxName, maxLabel = 253, 63
	if len(text) > maxName {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > maxLabel || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}
