package declared

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// world is what there is. Its mutex is a leaf.
type world struct {
	mu      sync.Mutex
	spec    *Spec
	random  *rand.Rand
	now     func() time.Time
	base    string
	last    int
	streams map[string]*kept
	things  []*thing
}

// kept are the records of a stream, in the order in which they were made.
type kept struct {
	*Stream
	all  []*record
	gone []string
}

// one says that a parent has one of these, which is the answer itself.
func (k *kept) one() bool { return len(k.Routes) > 0 && k.Routes[0].One }

// record is one thing.
type record struct {
	id      int
	parent  *record
	updated time.Time
	// turn grows with every change.
	turn int
}

func (r *record) name() string { return strconv.Itoa(r.id) }

func newWorld(spec *Spec, o Options) *world {
	w := &world{spec: spec, random: rand.New(rand.NewPCG(o.Seed, 1)), now: o.Now, streams: map[string]*kept{}, things: grown(spec, o.Records)}
	for i := range spec.Streams {
		w.streams[spec.Streams[i].Name] = &kept{Stream: &spec.Streams[i]}
	}
	for _, k := range w.roots() {
		for range o.Records {
			w.grow(k, nil, o.Children)
		}
	}
	for _, k := range w.streams {
		for _, r := range k.all {
			r.updated = r.updated.Add(-o.Spread / 60 * time.Duration(r.id%61))
		}
	}
	return w
}

func (w *world) roots() []*kept {
	var all []*kept
	for i := range w.spec.Streams {
		if k := w.streams[w.spec.Streams[i].Name]; k.Parent == "" {
			all = append(all, k)
		}
	}
	return all
}

func (w *world) below(name string) []*kept {
	var all []*kept
	for i := range w.spec.Streams {
		if k := w.streams[w.spec.Streams[i].Name]; k.Parent == name {
			all = append(all, k)
		}
	}
	return all
}

// grow makes a record, with as many below it as asked for; what is answered as one
// record has one.
func (w *world) grow(k *kept, parent *record, children int) {
	w.last++
	r := &record{id: w.last, parent: parent, updated: w.now().UTC().Truncate(time.Second)}
	k.all = append(k.all, r)
	for _, child := range w.below(k.Name) {
		n := children
		if child.one() {
			n = 1
		} else if n > 1 {
			n = w.random.IntN(2*n + 1)
		}
		for range n {
			w.grow(child, r, children)
		}
	}
}

// payload is a record as the upstream shows it.
func (w *world) payload(k *kept, r *record) map[string]any {
	p := map[string]any{}
	set(p, k.Key, r.id)
	if k.Version != "" {
		set(p, k.Version, r.updated.Format(time.RFC3339))
	}
	if k.Title != "" {
		set(p, k.Title, fmt.Sprintf("%s %d, %d", k.Name, r.id, r.turn))
	}
	if k.ParentAt != "" && r.parent != nil {
		set(p, k.ParentAt, r.parent.id)
	}
	for path, kind := range k.Fields {
		set(p, path, w.field(kind, r))
	}
	for path, of := range k.Addresses {
		set(p, path, w.base+addressPath(of)+r.name())
	}
	if get(p, "turn") == nil {
		set(p, "turn", r.turn)
	}
	return p
}

// called is what a record is called by.
func (w *world) called(k *kept, r *record) string {
	if len(k.Names) == 0 {
		return r.name()
	}
	var parts []string
	for _, p := range k.Names {
		of, at := k, r
		for range p.Above {
			of, at = w.streams[of.Parent], at.parent
		}
		parts = append(parts, fmt.Sprint(get(w.payload(of, at), p.Path)))
	}
	return strings.Join(parts, ":")
}

// addressPath is where records are asked for whose address another record names.
func addressPath(stream string) string { return "/_of/" + stream + "/" }

func (w *world) field(kind FieldKind, r *record) any {
	switch kind {
	case FieldName:
		return "name-" + r.name()
	case FieldInteger:
		return r.id*10 + r.turn
	case FieldBoolean:
		return (r.id+r.turn)%2 == 0
	case FieldInstant:
		return r.updated.Format(time.RFC3339)
	case FieldList:
		return []string{"a" + strconv.Itoa(r.turn), "b"}
	}
	return fmt.Sprintf("text %d of %d", r.turn, r.id)
}

// set puts a value at a path of names with dots between them.
func set(into map[string]any, path string, v any) {
	name, rest, more := strings.Cut(path, ".")
	if !more {
		into[name] = v
		return
	}
	below, ok := into[name].(map[string]any)
	if !ok {
		below = map[string]any{}
		into[name] = below
	}
	set(below, rest, v)
}

func get(from map[string]any, path string) any {
	name, rest, more := strings.Cut(path, ".")
	if !more {
		return from[name]
	}
	below, _ := from[name].(map[string]any)
	return get(below, rest)
}

// Truth is what a complete collection must contain: by stream, each record by its
// name, as the upstream shows it; and what was there and is gone.
type Truth struct {
	Records map[string]map[string]json.RawMessage `json:"records"`
	Gone    map[string][]string                   `json:"gone"`
	// Keyed are the values of records that are asked for by key, by kind and key.
	Keyed map[string]map[string]json.RawMessage `json:"keyed,omitempty"`
}

func (w *world) truth() Truth {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := Truth{Records: map[string]map[string]json.RawMessage{}, Gone: map[string][]string{}, Keyed: w.truthOfKeyed()}
	for name, k := range w.streams {
		t.Records[name] = map[string]json.RawMessage{}
		for _, r := range k.all {
			raw, _ := json.Marshal(w.payload(k, r))
			t.Records[name][w.called(k, r)] = raw
		}
		t.Gone[name] = slices.Clone(k.gone)
	}
	return t
}

// Mutation is how much changes.
type Mutation struct {
	Change, Add, Remove int
	// Renew is how many things get other names, where there are records by key.
	Renew int
}

// mutate changes records, adds some and removes some, with all that is below them.
func (w *world) mutate(m Mutation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mutateKeyed(m); len(w.spec.Streams) == 0 {
		return
	}
	names := make([]string, 0, len(w.spec.Streams))
	for i := range w.spec.Streams {
		names = append(names, w.spec.Streams[i].Name)
	}
	for range m.Change {
		if k := w.streams[names[w.random.IntN(len(names))]]; len(k.all) > 0 {
			r := k.all[w.random.IntN(len(k.all))]
			w.touch(k, r)
		}
	}
	for range m.Add {
		k := w.streams[names[w.random.IntN(len(names))]]
		switch parent := w.streams[k.Parent]; {
		case k.Parent == "":
			w.grow(k, nil, 1)
		case len(parent.all) > 0 && !k.one():
			of := parent.all[w.random.IntN(len(parent.all))]
			if w.grow(k, of, 1); k.Touches {
				w.touch(parent, of)
			}
		}
	}
	for range m.Remove {
		k := w.streams[names[w.random.IntN(len(names))]]
		if len(k.all) > 1 && !k.one() {
			r := k.all[w.random.IntN(len(k.all))]
			if w.remove(k, r); k.Touches {
				w.touch(w.streams[k.Parent], r.parent)
			}
		}
	}
}

// touch changes a record, and those above it that change with it.
func (w *world) touch(k *kept, r *record) {
	r.turn++
	r.updated = w.now().UTC().Truncate(time.Second)
	if k.Touches {
		w.touch(w.streams[k.Parent], r.parent)
	}
}

func (w *world) remove(k *kept, r *record) {
	k.all = slices.DeleteFunc(k.all, func(o *record) bool { return o == r })
	k.gone = append(k.gone, w.called(k, r))
	for _, child := range w.below(k.Name) {
		for _, c := range slices.Clone(child.all) {
			if c.parent == r {
				w.remove(child, c)
			}
		}
	}
}
