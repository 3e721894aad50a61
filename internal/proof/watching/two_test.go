package watching_test

import (
	"fmt"
	"strings"
	"testing"

	maplesim "sluice/internal/simulator/maplestory"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

// twoInstallations has two that know nothing of each other use one key, as happens
// when somebody tries a second one out. Each of them keeps the rate, and both
// together do not: whoever watches both is told.
func twoInstallations(t *testing.T) {
	const rate, characters = 10, 3000
	w := &world{T: t, alerts: newAlerts(t), game: maplesim.New(maplesim.Options{Seed: 5, Characters: characters, BodySize: 2000})}
	_, url := newValve(t, w.game)
	start := func() *sluice.Service {
		s := &sluice.Service{Dir: t.TempDir(), Token: "a-token-of-the-api-for-tests"}
		s.Program = sluice.Start(t, []string{"SLUICE_MAPLESTORY_KEY=" + maplesim.DefaultKey, "SLUICE_API_TOKEN=" + s.Token},
			"up", "--addr", "127.0.0.1:0", "--data-dir", s.Dir, "--maplestory-url", url, "--prefetch", "0",
			"--maplestory-per-second", fmt.Sprint(rate))
		s.URL = sluice.AddressIn(t, s.Says("Ctrl-C stops"))
		return s
	}
	w.Service = start()
	other := &world{T: t, game: w.game, Service: start()}
	w.prometheus = testkit.StartPrometheus(t,
		strings.Replace(w.configuration(), "targets: [", fmt.Sprintf("targets: [%q, ", strings.TrimPrefix(other.URL, "http://")), 1),
		map[string]string{"rules.yml": hasty(readFile(t, rulesFile)), "token": w.Token})

	// One of them alone keeps it (a tenth of it is never used), for as long as the rule
	// looks back.
	w.refresh(w.characters(0, 70*rate)...)
	w.until(func() bool {
		return w.ask(fmt.Sprintf("sum(rate(sluice_rate_acquired_total[1m])) > %d", rate*7/10)) > 0
	})
	w.quiet("SluiceRateExceeded")
	w.refresh(w.characters(70*rate, 100*rate)...)
	other.refresh(w.characters(200*rate, 100*rate)...)
	w.fires("SluiceRateExceeded")
}
