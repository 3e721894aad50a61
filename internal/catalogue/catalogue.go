// Package catalogue knows all sources that an installation has: those that the program
// is made with, those whose files come with it, those that the settings name, and those
// that somebody has added. These are records, so that every process has them.
//
//   - catalogue.go: Catalogue, and what it lists.
//   - change.go: adding, and removing; probe.go: trying out.
//   - open.go: how a process opens what was added, and never collects by an old file.
//   - added.go: how a file lies in a record.
package catalogue

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/ration/keeper"
	"sluice/internal/record"
	"sluice/internal/source"
	"sluice/internal/source/declared"
	"sluice/internal/source/declared/shipped"
)

// Origin is where a source comes from.
type Origin string

// The origins.
const (
	// BuiltIn is part of the program; Shipped comes with it as a file, and is collected
	// once it is added or set.
	BuiltIn Origin = "built-in"
	Shipped Origin = "shipped"
	// Set is named by the settings of the process, AddedHere was added to the
	// installation.
	Set       Origin = "settings"
	AddedHere Origin = "added"
)

// Accounts counts those of each source that are not purged.
type Accounts func(ctx context.Context) (map[string]int, error)

// Options are what a catalogue is made of.
type Options struct {
	Records record.Store
	// BuiltIn are the sources of the program, and Set those that the settings name.
	BuiltIn []source.Description
	Set     []Added
	// Opened are the added ones that this process collects.
	Opened *Opened
	// Renews says that the process opens itself again when something was changed.
	Renews bool
	// Room makes room for documents of all kinds, before something is added; it may be
	// called again.
	Room func(ctx context.Context, kinds document.Kinds) error
	// Alone keeps other processes from changing anything meanwhile; nil if there are none.
	Alone func(ctx context.Context, what string) (release func(), err error)
	// Changed is told that something was added or removed; nil is nobody.
	Changed  func()
	Accounts Accounts
	// Try lets calls be made to a source; nil makes none.
	Try Try
	Now func() time.Time
}

// Catalogue lists sources, and changes which there are.
type Catalogue struct {
	Options
	// changing is whose turn it is to add or remove something.
	changing keeper.Turn
}

// New returns the catalogue of a process.
func New(o Options) *Catalogue {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Opened == nil {
		o.Opened = &Opened{}
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	return &Catalogue{Options: o, changing: keeper.NewTurn()}
}

// Item is a source in a list.
type Item struct {
	Name   string `json:"name"`
	Title  string `json:"title" doc:"What people call it"`
	Origin Origin `json:"origin" enum:"built-in,shipped,settings,added" doc:"built-in: part of the program; shipped: a file of the program, to be added; settings: named by the setting sources; added: a file that somebody added"`
	// Collected says whether this process collects it.
	Collected bool     `json:"collected" doc:"Whether this process can collect it: a shipped one must be added first"`
	About     string   `json:"about,omitempty"`
	Target    string   `json:"target,omitempty" doc:"What an account of it is"`
	Tables    []string `json:"tables" nullable:"false" doc:"The tables of what it brings"`
	Rations   []string `json:"rations" nullable:"false" doc:"What the upstream grants, in words"`
	// Credential says whether the upstream wants one.
	Credential bool              `json:"credential" doc:"Whether accounts need a credential"`
	Accounts   int               `json:"accounts" doc:"How many accounts it has"`
	Set        map[string]string `json:"set,omitempty" doc:"Values of its config that were set with it"`
	AddedAt    *time.Time        `json:"added_at,omitempty"`
	Version    string            `json:"version,omitempty" doc:"Tells one content of the file from another"`
	Problem    string            `json:"problem,omitempty" doc:"Why it cannot be collected"`
}

// Detail is all of a source.
type Detail struct {
	Item
	File string                `json:"file,omitempty" doc:"The file that describes it; none of a built-in one"`
	Plan *declared.Explanation `json:"plan,omitempty" doc:"What runs ask for"`
	// Streams are the tables with their columns.
	Streams []Table `json:"streams" nullable:"false"`
	// Probe is absent if nobody has made one.
	Probe *Probe `json:"probe,omitempty" doc:"What the last probe showed; absent if there was none"`
}

// Table is what a source brings of one kind.
type Table struct {
	Table   string   `json:"table"`
	About   string   `json:"about,omitempty"`
	Columns []Column `json:"columns" nullable:"false"`
}

// Column is one of a table.
type Column struct {
	Name  string        `json:"name"`
	Type  document.Type `json:"type" enum:"text,integer,boolean,instant,list"`
	About string        `json:"about,omitempty"`
}

// Checked is what a file comes to.
type Checked struct {
	Valid    bool               `json:"valid"`
	Mistakes []declared.Mistake `json:"mistakes" nullable:"false" doc:"All that is wrong with it, with lines and remedies"`
	// Plan is what runs would ask for; nil if there are mistakes.
	Plan *declared.Explanation `json:"plan,omitempty" doc:"What runs would ask for; absent if there are mistakes"`
}

// Check says what is wrong with a file, or what it would collect. It makes no call.
func Check(text []byte) Checked {
	f, mistakes := declared.Load(text)
	c := Checked{Valid: len(mistakes) == 0, Mistakes: mistakes}
	if c.Mistakes == nil {
		c.Mistakes = []declared.Mistake{}
	}
	if f != nil {
		plan := f.Explain()
		c.Plan = &plan
	}
	return c
}

// List lists all sources, by origin and name.
func (c *Catalogue) List(ctx context.Context) ([]Item, error) {
	all, err := c.all(ctx)
	items := make([]Item, len(all))
	for i := range all {
		items[i] = all[i].Item
	}
	return items, err
}

// Get returns a source. One that comes with the program and was added is the added one.
func (c *Catalogue) Get(ctx context.Context, name string) (Detail, error) {
	all, err := c.all(ctx)
	if err != nil {
		return Detail{}, err
	}
	for i := range all {
		if all[i].Name == name {
			all[i].Probe, err = c.lastProbe(ctx, name)
			return all[i], err
		}
	}
	return Detail{}, domain.Errorf(domain.CodeNotFound, "there is no source of that name; `sluice source list` shows those that there are")
}

// all are all sources with everything.
func (c *Catalogue) all(ctx context.Context) ([]Detail, error) {
	var all []Detail
	for _, d := range c.BuiltIn {
		all = append(all, builtIn(d))
	}
	for i := range c.Set {
		all = append(all, ofFile(&c.Set[i], Set, true))
	}
	list, err := c.Records.List(ctx, record.Source)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		all = append(all, c.added(r))
	}
	for _, name := range shipped.Names() {
		if !slices.ContainsFunc(all, func(d Detail) bool { return d.Name == name }) {
			text, _ := shipped.File(name)
			all = append(all, ofFile(&Added{Name: name, Text: string(text)}, Shipped, false))
		}
	}
	counted, err := c.Accounts(ctx)
	for i := range all {
		all[i].Accounts = counted[all[i].Name]
	}
	return all, err
}

// added is a source that somebody added.
func (c *Catalogue) added(r record.Record) Detail {
	a, err := unpack(r)
	d := ofFile(&a, AddedHere, err == nil && c.Opened.versions[r.Name] == a.Version())
	d.AddedAt, d.Version = &a.At, a.Version()
	problem := c.Opened.problems[r.Name]
	switch {
	case err != nil:
		d.Problem = err.Error()
	case problem != "":
		d.Problem = problem
	case !d.Collected && c.Renews:
		d.Problem = "this process is about to take it up"
	case !d.Collected:
		d.Problem = "this process takes it up when it is started again"
	}
	return d
}

func builtIn(d source.Description) Detail {
	out := Detail{Item: Item{
		Name: d.Name, Title: d.Title, Origin: BuiltIn, Collected: true, Target: "account", Credential: true, Tables: []string{}, Rations: []string{},
	}}
	for _, r := range d.Rations {
		out.Rations = append(out.Rations, fmt.Sprintf("%s: %d every %s", r.Bucket, r.Limit, cmp.Or(r.Window, time.Hour)))
	}
	out.setStreams(d.Kinds)
	return out
}

// ofFile is a source that a file describes.
func ofFile(a *Added, origin Origin, collected bool) Detail {
	out := Detail{
		Item: Item{Name: a.Name, Title: a.Name, Origin: origin, Collected: collected, Set: a.Set, Tables: []string{}, Rations: []string{}},
		File: a.Text, Streams: []Table{},
	}
	f, mistakes := declared.Load([]byte(a.Text))
	if f == nil {
		if err := mistakes.Err("the file"); err != nil {
			out.Problem = err.Error()
		}
		return out
	}
	plan := f.Explain()
	out.Plan, out.Title, out.About, out.Target, out.Credential = &plan, f.Title, f.Doc, f.Target, f.NeedsCredential()
	out.Rations = append(out.Rations, plan.Rations...)
	out.setStreams(f.Describe().Kinds)
	return out
}

func (d *Detail) setStreams(kinds document.Kinds) {
	d.Streams = []Table{}
	for i := range kinds {
		k := &kinds[i]
		t := Table{Table: k.Plural, About: k.Doc, Columns: []Column{}}
		for _, c := range k.Columns {
			t.Columns = append(t.Columns, Column{c.Name, c.Type, c.Doc})
		}
		d.Tables = append(d.Tables, k.Plural)
		d.Streams = append(d.Streams, t)
	}
}
