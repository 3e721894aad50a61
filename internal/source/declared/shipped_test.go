package declared_test

import (
	"slices"
	"testing"

	sim "sluice/internal/simulator/declared"
	"sluice/internal/source/declared/shipped"
)

// TestShippedWalks: what comes with the program collects everything that its simulated
// upstream has, what changes and, where the upstream lets it be told, what goes.
func TestShippedWalks(t *testing.T) {
	for _, name := range shipped.Names() {
		text, _ := shipped.File(name)
		if load(t, string(text)).Keyed() {
			continue // its records are TestRecordsOfSimulated's
		}
		t.Run(name, func(t *testing.T) {
			d := drive(t, string(text), sim.Options{Seed: 5, Records: records(name), Children: 2})
			d.run()
			d.want("the first run")
			for range 2 {
				d.upstream.Mutate(sim.Mutation{Change: 9, Add: 5})
				d.run()
				d.want("after changes")
			}
			if slices.Contains([]string{"stackexchange", "jsonfeed", "rss", "atom"}, name) {
				// They have no walk that would tell what is gone.
				return
			}
			d.upstream.Mutate(sim.Mutation{Change: 3, Add: 2, Remove: 6})
			// Sweeps are due after a week.
			d.now = d.now.AddDate(0, 0, 8)
			d.run()
			if name == "gitlab" {
				// Pipelines have no such walk either.
				d.forget("gitlab_pipelines")
			}
			d.want("after removals")
		})
	}
}

// records are enough for more than one page.
func records(of string) int {
	if of == "pokeapi" {
		return 230
	}
	return 110
}
