package wiring

import "testing"

func TestSinksLieElsewhere(t *testing.T) {
	for address, refused := range map[string]bool{
		"sqlite:/srv/sluice/sluice.db": true, "sqlite:/srv/sluice/sub/x.db?prefix=a_": true, "file:///srv/sluice": true, "file:///srv/sluice/lake": true,
		"sqlite:/srv/sluice%2Fx.db": true, "sqlite:/srv/other.db": false, "file:///srv/sluice-lake": false, "file:///srv": false,
		"postgres://user@host/srv/sluice": false, "https://host/srv/sluice/x": false,
	} {
		if err := elsewhere(address, "/srv/sluice"); (err != nil) != refused {
			t.Errorf("%s: %v", address, err)
		}
	}
}
