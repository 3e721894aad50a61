package declared_test

import (
	"strings"
	"testing"

	sim "sluice/internal/simulator/declared"
)

// walks are files that walk in every way that there is.
var walks = map[string]string{
	"numbers with a total": shop,
	"offsets with a total": head + `
  items:
    get: /items
    page: {type: offset, param: offset, size: {limit: 4}, total: count}
    records: results
    key: name
  detail:
    of: items
    get: "{items.url}"
    key: id
    conditional: etag
`,
	"numbers without a total": head + `
  items: {get: /items, page: {type: page, param: page, start: 0, size: {n: 4}}, records: data.items, key: id, sweep_not: x}
`,
	"links": head + `
  items: {get: "/items?sort=id", page: {type: link, size: {per_page: 3}}, key: id, version: at, conditional: etag}
`,
	"links with a total": head + `
  items: {get: /items, page: {type: link, size: {per_page: 3}, total: {header: X-Total}}, key: id}
`,
	"tokens in the body": head + `
  items: {get: /items, page: {type: cursor, param: after, size: {n: 4}, next: meta.next, more: meta.more}, records: data, key: id}
`,
	"addresses in the body": head + `
  items: {get: /items, page: {type: cursor, size: {n: 4}, next: next_url}, records: data, key: id}
`,
	"tokens in a header": head + `
  items: {get: /items, page: {type: cursor, param: after, size: {n: 4}, next: {header: X-Next}}, key: id}
`,
	"keys": head + `
  items: {get: /items, page: {type: keyset, param: after, size: {n: 4}, by: id}, key: id}
`,
	"posts": head + `
  items: {post: /items/search, body: {q: "all of {target}"}, page: {type: offset, param: from, size: {size: 4}, total: total}, records: hits, key: id}
`,
	"three levels": head + `
  groups: {get: /groups, page: {type: link}, key: id}
  projects: {of: groups, get: "/groups/{groups.id}/projects", page: {type: page, param: page, size: {n: 2}, total: total}, records: items, key: id}
  notes: {of: projects, get: "/groups/{groups.id}/projects/{projects.slug}/notes", page: {type: keyset, param: after, size: {n: 5}}, key: [projects.id, n]}
`,
	"changes of a root": head + `
  items:
    get: /items
    page: {type: page, param: page, size: {n: 4}, total: total}
    records: data
    key: id
    version: updated
    changes: {get: "/items?since={cursor}", records: data, page: {type: cursor, param: after, size: {n: 4}, next: next}}
    sweep: {get: "/items?all=1", records: data, page: {type: cursor, param: after, size: {n: 4}, next: next}, every: 30m}
`,
	"changes of all children": head + `
  projects: {get: /projects, page: {type: link}, key: id, version: at}
  issues:
    of: projects
    first: {get: "/projects/{projects.id}/issues", page: {type: link}}
    changes: {get: "/issues?since={cursor}", page: {type: link}}
    sweep: {get: "/projects/{projects.id}/issues?sweep=1", page: {type: link}, every: 30m}
    parent: project
    key: id
    version: updated
    cursor: {as: epoch, overlap: 2m}
`,
	"one request since a cursor": head + `
  items:
    get: "/items?since={cursor}"
    page: {type: cursor, param: after, size: {n: 4}, next: next}
    records: data
    key: id
    version: updated
    cursor: {start: 2020-01-01}
    sweep: {get: "/items?since={config.ever}", records: data, page: {type: cursor, param: after, size: {n: 4}, next: next}, every: 30m}
`,
}

const head = `
source: api
config: {ever: "2000-01-01"}
base: https://api.example
auth: bearer
ration: {all: {per: key, calls: 1000, every: 1m, shape: sliding}}
streams:`

// numbersOnly are walks that cannot tell what is gone.
const numbersOnly = "numbers without a total"

// TestWalks: every way of walking brings all there is, what changed since and what is
// gone, whatever changes between runs.
func TestWalks(t *testing.T) {
	for name, text := range walks {
		t.Run(name, func(t *testing.T) {
			text = strings.ReplaceAll(text, ", sweep_not: x", "")
			for seed := range uint64(5) {
				d := drive(t, text, sim.Options{Seed: seed, Records: 11, Children: 3})
				d.run()
				d.want("the first run")
				first := d.calls
				for range 3 {
					d.upstream.Mutate(sim.Mutation{Change: 5, Add: 3})
					d.run()
					d.want("after changes")
					if name == numbersOnly {
						continue
					}
					d.upstream.Mutate(sim.Mutation{Change: 2, Add: 2, Remove: 2})
					d.run()
					d.want("after removals")
				}
				if d.calls > 5*first+20 {
					t.Errorf("%d calls where %d were enough", d.calls, first)
				}
			}
		})
	}
}

// TestFaults: what fails for a while is tried again, and nothing is lost.
func TestFaults(t *testing.T) {
	for name, text := range walks {
		t.Run(name, func(t *testing.T) {
			text = strings.ReplaceAll(text, ", sweep_not: x", "")
			d := drive(t, text, sim.Options{Seed: 3, Records: 9, Children: 2, Faults: 0.15})
			for range 3 {
				d.run()
				d.upstream.Mutate(sim.Mutation{Change: 3, Add: 2})
			}
			d.run()
			d.want("with faults")
		})
	}
}
