package catalogue

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/record"
	"sluice/internal/source"
	"sluice/internal/source/declared"
)

// Addition is a file to be added, and the values of its config that are set with it.
type Addition struct {
	File string            `json:"file" minLength:"1" doc:"The file, as sluice source check reads it"`
	Name string            `json:"name,omitempty" maxLength:"31" doc:"What the source is to be called instead of what the file says"`
	Set  map[string]string `json:"set,omitempty" doc:"Values of its config, and base, by name"`
}

// About says in a few words which source is to be added, and where it is.
func (in Addition) About() string {
	a, src, err := read(in)
	if err != nil {
		return cmp.Or(in.Name, "a file that is not right")
	}
	return a.Name + " version " + a.Version() + " at " + cmp.Or(in.Set["base"], src.BaseText())
}

// what processes keep each other from doing at the same time.
const what = "sources"

// Add adds a source, or changes the file of one that was added. Room is made for its
// tables first: what cannot be stored is not added. Whoever dies in between has added
// nothing, or the whole; the same addition again changes nothing. new says that there
// was none of the name.
func (c *Catalogue) Add(ctx context.Context, in Addition) (d Detail, isNew bool, err error) {
	a, src, err := read(in)
	if err == nil {
		err = c.refuseSet(a.Name)
	}
	if err != nil {
		return d, false, err
	}
	release, err := c.alone(ctx)
	if err != nil {
		return d, false, err
	}
	defer release()
	before, list, err := c.before(ctx, a.Name)
	if err != nil {
		return d, false, err
	}
	if before != nil && before.same(a) {
		return c.shown(ctx, before, false)
	}
	if before == nil && len(list) >= mostAdded {
		return d, false, domain.Errorf(domain.CodeConflict, "%d sources were added, which is the most there can be: remove some", len(list))
	}
	if err := keepsColumns(before, src.Describe()); err != nil {
		return d, false, err
	}
	beside, opened := c.beside(list, a.Name)
	if err := Fits(beside, src.Describe()); err != nil {
		return d, false, err
	}
	kinds, err := c.inferred(ctx, append(opened, src))
	if err != nil {
		return d, false, err
	}
	if err := c.Room(ctx, kinds); err != nil {
		return d, false, err
	}
	a.At = c.Now().UTC().Truncate(time.Microsecond)
	r, err := pack(a)
	if err == nil {
		err = c.Records.Put(ctx, r)
	}
	if err != nil {
		return d, false, err
	}
	c.Changed()
	return c.shown(ctx, a, before == nil)
}

// read checks what is to be added by itself.
func read(in Addition) (*Added, *declared.Source, error) {
	text := []byte(in.File)
	if in.Name != "" {
		var err error
		if text, err = declared.Rename(text, in.Name); err != nil {
			return nil, nil, err
		}
	}
	f, mistakes := declared.Load(text)
	if err := mistakes.Err("the file"); err != nil {
		return nil, nil, err
	}
	if in.Name != "" && f.Name != in.Name {
		return nil, nil, domain.Errorf(domain.CodeInvalid, "the file says its name in a way that cannot be replaced: write source: %s into it", in.Name)
	}
	if f.Keyed() {
		return nil, nil, domain.Errorf(domain.CodeInvalid, "%s has records by key, which are kept fresh with a credential of the service and not of accounts: name the file with the setting sources (`sluice up --sources FILE`)", f.Name)
	}
	a := &Added{Name: f.Name, Text: string(text), Set: in.Set}
	if len(a.Set) == 0 {
		a.Set = nil
	}
	src, err := declared.New(f, declared.Options{}.With(a.Set))
	return a, src, err
}

// refuseSet refuses the name of a source that the settings name.
func (c *Catalogue) refuseSet(name string) error {
	for i := range c.Set {
		if c.Set[i].Name == name {
			return domain.Errorf(domain.CodeConflict, "the setting sources names a source %s: take it from there, or give this one another name with --name", name)
		}
	}
	return nil
}

// before is what has the name so far, nil for nothing, and all that were added.
func (c *Catalogue) before(ctx context.Context, name string) (*Added, []Added, error) {
	records, err := c.Records.List(ctx, record.Source)
	if err != nil {
		return nil, nil, err
	}
	var before *Added
	list := make([]Added, len(records))
	for i, r := range records {
		// One that cannot be read may be replaced, and removed.
		list[i], _ = unpack(r)
		if list[i].Name == name {
			before = &list[i]
		}
	}
	return before, list, nil
}

// beside are the sources that there are beside one, and those of them that files describe.
func (c *Catalogue) beside(list []Added, name string) (beside []source.Description, opened []*declared.Source) {
	beside = append([]source.Description{}, c.BuiltIn...)
	for i := range c.Set {
		if src, err := open(&c.Set[i]); err == nil {
			beside, opened = append(beside, src.Describe()), append(opened, src)
		}
	}
	for i := range list {
		if list[i].Name == name {
			continue
		}
		if src, err := open(&list[i]); err == nil && Fits(beside, src.Describe()) == nil {
			beside, opened = append(beside, src.Describe()), append(opened, src)
		}
	}
	return beside, opened
}

// inferred are the kinds that there is to be room for: those of the program and of sources
// of files, with the columns that were inferred of them. Without these every view would
// lose them until a process opens itself again.
func (c *Catalogue) inferred(ctx context.Context, opened []*declared.Source) (kinds document.Kinds, err error) {
	kinds = source.Kinds(c.BuiltIn)
	taken := map[string]document.Type{}
	all := append(document.Kinds{}, kinds...)
	for _, src := range opened {
		all = append(all, src.Describe().Kinds...)
	}
	for _, column := range all.Own() {
		taken[column.Name] = column.Type
	}
	for _, src := range opened {
		for _, kind := range src.Uninferred() {
			kept, err := c.Records.Get(ctx, record.Columns, string(kind))
			if domain.CodeOf(err) == domain.CodeNotFound {
				continue
			}
			if err == nil {
				err = src.Adopt(kind, kept.Value, taken)
			}
			if err != nil {
				return nil, err
			}
			for _, column := range src.Types(kept.Value) {
				if _, met := taken[column.Name]; !met {
					taken[column.Name] = column.Type
				}
			}
		}
		kinds = append(kinds, src.Describe().Kinds...)
	}
	return kinds, nil
}

// keepsColumns refuses a file that changes the type of a column: what is stored is of
// the old one.
func keepsColumns(before *Added, now source.Description) error {
	if before == nil {
		return nil
	}
	f, _ := declared.Load([]byte(before.Text))
	if f == nil {
		return nil
	}
	for _, kind := range f.Describe().Kinds {
		other := now.Kinds.Of(kind.Kind)
		if other == nil {
			continue
		}
		for _, was := range kind.Columns {
			for _, is := range other.Columns {
				if is.Name == was.Name && is.Type != was.Type {
					return domain.Errorf(domain.CodeConflict, "the column %s of %s holds values of the type %s, and the file makes it %s: give it another name", was.Name, kind.Plural, was.Type, is.Type)
				}
			}
		}
	}
	return nil
}

// alone keeps everybody else from changing anything.
func (c *Catalogue) alone(ctx context.Context) (release func(), err error) {
	if err := c.changing.Take(ctx); err != nil {
		return nil, err
	}
	if c.Alone == nil {
		return c.changing.End, nil
	}
	others, err := c.Alone(ctx, what)
	if err != nil {
		c.changing.End()
		return nil, err
	}
	return func() { others(); c.changing.End() }, nil
}

func (c *Catalogue) shown(ctx context.Context, a *Added, isNew bool) (Detail, bool, error) {
	r, err := pack(a)
	if err != nil {
		return Detail{}, isNew, err
	}
	d := c.added(r)
	counted, err := c.Accounts(ctx)
	d.Accounts = counted[a.Name]
	return d, isNew, err
}

// Remove removes a source that was added, unless it has accounts: without it nobody
// could say what their documents are.
func (c *Catalogue) Remove(ctx context.Context, name string) error {
	release, err := c.alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	kept, err := c.Records.Get(ctx, record.Source, name)
	if err != nil {
		if domain.CodeOf(err) != domain.CodeNotFound {
			return err
		}
		d, err := c.Get(ctx, name)
		if err != nil {
			return err
		}
		return domain.Errorf(domain.CodeConflict, "the source %s was not added: %s", name, remedies(d.Origin))
	}
	if err := c.refuseUsed(ctx, name); err != nil {
		return err
	}
	if _, err := c.Records.Remove(ctx, record.Source, name); err != nil {
		return err
	}
	if err := c.refuseUsed(ctx, name); err != nil {
		// Somebody added an account meanwhile.
		return errors.Join(err, c.Records.Put(ctx, kept))
	}
	// What it showed is of no use any more, and expires if it stays.
	_, _ = c.Records.Remove(ctx, record.Probe, name)
	c.Changed()
	return nil
}

// refuseUsed refuses to remove a source that has accounts.
func (c *Catalogue) refuseUsed(ctx context.Context, name string) error {
	counted, err := c.Accounts(ctx)
	if err != nil {
		return err
	}
	if n := counted[name]; n > 0 {
		return domain.Errorf(domain.CodeConflict, "the source %s has %s: purge them first, with everything that was collected for them, by `sluice account purge %s:LOGIN`", name, accounts(n), name)
	}
	return nil
}

func accounts(n int) string {
	if n == 1 {
		return "an account"
	}
	return strconv.Itoa(n) + " accounts"
}

func remedies(o Origin) string {
	return map[Origin]string{
		BuiltIn: "it is part of the program", Shipped: "it comes with the program and is not in use",
		Set: "the settings name it; take it out of `sources` and start the service again",
	}[o]
}
