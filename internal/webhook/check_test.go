package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/webhook"
)

// closedHosts are of no use to strangers but to reach what they cannot.
var closedHosts = []string{
	"127.0.0.1", "127.255.0.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "0.0.0.0", "0.1.2.3",
	"100.64.0.1", "100.127.255.255", "198.18.0.1", "198.19.255.255", "192.0.2.1", "198.51.100.7", "203.0.113.9", "192.0.0.8", "192.88.99.1",
	"224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255",
	"[::]", "[::1]", "[fc00::1]", "[fd12:3456::1]", "[fe80::1]", "[fe80::1%25eth0]", "[2606:4700::1%25eth0]", "[fec0::1]", "[ff02::1]",
	"[2001:db8::1]", "[3fff::1]", "[2001::1]", "[2002:7f00:1::]", "[100::1]", "[5f00::1]", "[4000::1]", "[::127.0.0.1]", "[0:0:0:0:0:0:0:1]",
	"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:8.8.8.8]", "[::ffff:169.254.169.254]",
	"[64:ff9b::127.0.0.1]", "[64:ff9b::8.8.8.8]", "[64:ff9b:1::1]",
	"localhost", "LOCALHOST", "localhost.", "a.localhost", "a.b.LocalHost.",
}

// oddHosts are not used in any case: programs differ in what they make of them.
var oddHosts = []string{
	"2130706433", "0x7f000001", "0X7F000001", "017700000001", "127.1", "127.0.1", "0177.0.0.1", "0x7f.0.0.1", "127.0.0.0x1", "127.0.0.01",
	"127.0.0.1.", "2130706433.", "127.0.0.1..", "0x", "0", "1.2.3.4.5", "999.999.999.999", "134744072", "a.0x", "a.1", "a.99999999999999999999",
	"a..b", ".a", "%31%32%37.0.0.1", "１２７.0.0.1", "①.①.①.①", "loca%6chost", "ⓛocalhost", "a b", "a_b!c", "127。0。0。1",
	strings.Repeat("a", 64) + ".com", strings.Repeat("abcdefg.", 40) + "com",
}

func TestCheckRefusesWhatIsNotOpen(t *testing.T) {
	s := sender(t, webhook.Options{Resolver: unplugged()})
	for _, host := range append(append([]string{}, closedHosts...), oddHosts...) {
		for _, address := range []string{"http://" + host + "/hook", "https://" + host + ":8443", "http://" + host} {
			if err := s.Check(t.Context(), address); domain.CodeOf(err) != domain.CodeInvalid {
				t.Errorf("%s: %v, want code invalid", address, err)
			}
			r := s.Send(t.Context(), message(address))
			if r.OK || !r.Permanent || r.Error == "" {
				t.Errorf("sent to %s: %+v, want a permanent failure", address, r)
			}
		}
	}
	err := s.Check(t.Context(), "http://169.254.169.254/latest/meta-data/")
	if err == nil || !strings.Contains(err.Error(), "--webhook-allow-private") {
		t.Errorf("%v does not name the fix", err)
	}
}

func TestCheckWithPrivateAddressesAllowed(t *testing.T) {
	s := sender(t, webhook.Options{AllowPrivate: true, Resolver: unplugged()})
	for _, host := range closedHosts {
		if err := s.Check(t.Context(), "http://"+host+"/"); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, host := range oddHosts {
		if err := s.Check(t.Context(), "http://"+host+"/"); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s: %v, want code invalid", host, err)
		}
	}
}

func TestCheckAcceptsWhatIsOpen(t *testing.T) {
	s := sender(t, webhook.Options{Resolver: unplugged()})
	for _, address := range []string{
		"https://example.com/hook?token=1", "http://EXAMPLE.com.", "https://a-b.xn--bcher-kva.example:8443/", "https://8.8.8.8/x", "https://1.1.1.1",
		"https://[2606:4700:4700::1111]/", "HTTPS://example.com", "https://example.com:/", "https://localhost.example.com", "https://notlocalhost",
		"https://under_score.example.com", "https://172.32.0.1", "https://100.128.0.1", "https://1password.com", "https://a.0xyz",
	} {
		if err := s.Check(t.Context(), address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestCheckRefusesWhatIsNoAddress(t *testing.T) {
	s := sender(t, webhook.Options{AllowPrivate: true})
	for _, address := range []string{
		"", "hidden", "/hidden", "//example.com/hidden", "ftp://example.com/hidden", "file:///etc/hidden", "javascript:hidden", "http:hidden",
		"http:///hidden", "https://", "https://:443/hidden", "https://user@example.com/hidden", "https://user:hidden@example.com/",
		"https://@example.com/hidden", "https://example.com/#hidden", "https://example.com/hidden#", "https://example.com:0/hidden",
		"https://example.com:65536/hidden", "https://example.com:hidden/", "https://example.com\n.evil/hidden", "https://[::1/hidden",
		"https://exa\x00mple.com/hidden", "gopher://127.0.0.1/hidden", "unix:///hidden", "https://example.com\\@127.0.0.1/hidden",
	} {
		err := s.Check(t.Context(), address)
		if domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%q: %v, want code invalid", address, err)
			continue
		}
		for cause := err; cause != nil; cause = errors.Unwrap(cause) {
			if strings.Contains(cause.Error(), "hidden") {
				t.Errorf("%q: the error repeats it: %v", address, cause)
			}
		}
	}
}

func TestCheckWithoutASecret(t *testing.T) {
	s, err := webhook.New(webhook.Options{AllowPrivate: true})
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	err = s.Check(t.Context(), "https://example.com/")
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "SLUICE_WEBHOOK_SECRET") {
		t.Errorf("got %v, want code invalid and the fix", err)
	}
	if r := s.Send(t.Context(), message("https://example.com/")); r.OK || r.Permanent || !strings.Contains(r.Error, "SLUICE_WEBHOOK_SECRET") {
		t.Errorf("sent: %+v, want a failure that can be mended", r)
	}
}

func addresses(list ...string) func() []netip.Addr {
	parsed := make([]netip.Addr, len(list))
	for i, text := range list {
		parsed[i] = netip.MustParseAddr(text)
	}
	return func() []netip.Addr { return parsed }
}

func TestCheckLooksNamesUp(t *testing.T) {
	for _, c := range []struct {
		answers []string
		open    bool
	}{
		{[]string{"8.8.8.8"}, true},
		{[]string{"8.8.8.8", "2606:4700:4700::1111"}, true},
		{[]string{"64:ff9b::8.8.8.8"}, true}, // a network of IPv6 alone
		{[]string{"10.0.0.1"}, false},
		{[]string{"8.8.8.8", "127.0.0.1"}, false},
		{[]string{"8.8.8.8", "::1"}, false},
		{[]string{"169.254.169.254"}, false},
		{[]string{"64:ff9b::10.0.0.1"}, false},
		{[]string{"::ffff:127.0.0.1"}, false},
		{[]string{"fd00::1"}, false},
	} {
		s := sender(t, webhook.Options{Resolver: names(addresses(c.answers...))})
		err := s.Check(t.Context(), "https://hooks.example.com/")
		if c.open && err != nil || !c.open && domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("a name with %v: %v", c.answers, err)
		}
	}
}

// TestCheckDoesNotWaitForever: a name server that is silent delays somebody who
// sets a timer by two seconds, and is no reason to refuse.
func TestCheckDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		s, began := sender(t, webhook.Options{Resolver: silent}), time.Now()
		if err := s.Check(t.Context(), "https://hooks.example.com/"); err != nil {
			t.Errorf("a name that cannot be looked up now: %v", err)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("it took %v, want 2s", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Check(ctx, "https://hooks.example.com/"); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that left is told %v", err)
		}
	})
}

func TestSecretsThatCannotBeUsed(t *testing.T) {
	for _, bad := range []string{"short", "fifteen bytes !", "whsec_", "whsec_c2hvcnQ=", "whsec_no base64 at all, though it is long enough", "  0123456789abcde  "} {
		s, err := webhook.New(webhook.Options{Secret: bad})
		if domain.CodeOf(err) != domain.CodeInvalid || s != nil {
			t.Errorf("%q: %v, want code invalid", bad, err)
			continue
		}
		rest := strings.TrimPrefix(bad, "whsec_")
		if !strings.Contains(err.Error(), "SLUICE_WEBHOOK_SECRET") || rest != "" && strings.Contains(err.Error(), rest) {
			t.Errorf("%q: the error does not name the fix, or tells the secret: %v", bad, err)
		}
	}
}

func TestPrintingRevealsNoSecret(t *testing.T) {
	o := webhook.Options{Secret: secret}
	s := sender(t, o)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, value := range []any{o, &o, s, configuration{o}} {
			text := fmt.Sprintf(verb, value)
			if strings.Contains(text, secretText) || strings.Contains(text, "49 242 144") || strings.Contains(text, "0x31, 0xf2, 0x90") {
				t.Errorf("%s of %T tells the secret: %s", verb, value, text)
			}
		}
	}
}

// configuration is somebody else's that has these options in it.
type configuration struct{ Webhook webhook.Options }

// FuzzCheck: whatever is given, there is no panic, and no literal address of a
// closed network is accepted. What is one is judged here by other means.
func FuzzCheck(f *testing.F) {
	for _, host := range append(append([]string{}, closedHosts...), oddHosts...) {
		f.Add("http://" + host + "/")
		f.Add("https://" + host + ":1")
	}
	f.Add("https://user:password@example.com/#x")
	f.Add("http://::1/")
	f.Add("http://::1:80/")
	f.Add("https://8.8.8.8")
	s := sender(f, webhook.Options{Resolver: unplugged()})
	f.Fuzz(func(t *testing.T, address string) {
		err := s.Check(t.Context(), address)
		if err != nil {
			if domain.CodeOf(err) != domain.CodeInvalid {
				t.Errorf("%q: %v, want code invalid", address, err)
			}
			return
		}
		if why := reachesInside(address); why != "" {
			t.Errorf("%q is accepted, though it is %s", address, why)
		}
	})
}
