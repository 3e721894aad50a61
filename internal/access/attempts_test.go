package access_test

import (
	"net/netip"
	"testing"
	"time"

	"sluice/internal/access"
)

func TestAttemptsOfOneAddress(t *testing.T) {
	c := newClock()
	a := access.NewAttempts(c.Now)
	bad, good := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("203.0.113.8")
	tries := 0
	for ; a.Wait(bad) == 0; tries++ {
		a.Failed(bad)
	}
	if wait := a.Wait(bad); tries != 10 || wait <= 0 || wait > time.Minute {
		t.Errorf("after %d tries it waits for %v", tries, wait)
	}
	if wait := a.Wait(good); wait != 0 {
		t.Errorf("another address waits for %v", wait)
	}
	// The same address in another notation is the same.
	if a.Wait(netip.MustParseAddr("::ffff:203.0.113.7")) == 0 {
		t.Error("the address is heard in another notation")
	}
	for range 100 {
		wait := a.Wait(bad)
		c.pass(wait)
		if a.Wait(bad) != 0 {
			t.Fatal("it is not heard after its time")
		}
		a.Failed(bad)
		tries++
	}
	if spent := c.now.Sub(newClock().now); spent < 9*time.Minute {
		t.Errorf("%d tries took %v", tries, spent)
	}
	c.pass(2 * time.Minute)
	if a.Wait(bad) != 0 {
		t.Error("it waits for ever")
	}
}

// TestAttemptsOfANetwork: an IPv6 network is one address.
func TestAttemptsOfANetwork(t *testing.T) {
	c := newClock()
	a := access.NewAttempts(c.Now)
	network := netip.MustParseAddr("2001:db8::1")
	for range 10 {
		network = network.Next()
		a.Failed(network)
	}
	if a.Wait(netip.MustParseAddr("2001:db8::ffff")) == 0 || a.Wait(netip.MustParseAddr("2001:db8:0:1::1")) != 0 {
		t.Error("the network is not what counts")
	}
}

// TestAttemptsOfMany tries from very many addresses: each gets one try, somebody who
// has tried nothing is heard, and little is remembered.
func TestAttemptsOfMany(t *testing.T) {
	c := newClock()
	a := access.NewAttempts(c.Now)
	from := netip.MustParseAddr("10.0.0.1")
	heard := 0
	for range 20_000 {
		from = from.Next()
		for a.Wait(from) == 0 {
			a.Failed(from)
			heard++
		}
	}
	if heard > 20_000+10*110 {
		t.Errorf("%d tries were heard", heard)
	}
	if a.Wait(netip.MustParseAddr("203.0.113.8")) != 0 {
		t.Error("who has tried nothing is not heard")
	}
	if n := a.Remembered(); n > 4096 {
		t.Errorf("%d addresses are remembered", n)
	}
	c.pass(3 * time.Minute)
	a.Failed(netip.MustParseAddr("203.0.113.9"))
	if n := a.Remembered(); n != 1 {
		t.Errorf("%d addresses are remembered after the storm", n)
	}
}
