package catalogue

import (
	"context"
	"log/slog"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/record"
	"sluice/internal/source"
	"sluice/internal/source/declared"
)

// Opened are the added sources that a process collects.
type Opened struct {
	Sources []source.Source
	// seen are the versions of all files that there were, versions those of the files that
	// sources were made of, and problems why others could not be opened.
	seen, versions, problems map[string]string
}

// Watch is told that the store has another file than the one that a source was made of.
type Watch interface {
	// Stale may be called from many goroutines, and does not wait.
	Stale(name string)
}

// Open opens the sources that were added, beside those that the process has anyway. One
// that cannot be opened hinders nobody: it is told in the log and in every list. If
// others can change the store, watch is told of files that are others by now, and no
// call is made by an old one; nil is for who has the store to itself.
func Open(ctx context.Context, records record.Store, beside []source.Description, watch Watch, log *slog.Logger) (*Opened, error) {
	list, err := records.List(ctx, record.Source)
	if err != nil {
		return nil, err
	}
	o := &Opened{seen: map[string]string{}, versions: map[string]string{}, problems: map[string]string{}}
	all := append([]source.Description{}, beside...)
	for _, r := range list {
		a, err := unpack(r)
		o.seen[r.Name] = a.Version()
		var src *declared.Source
		if err == nil {
			src, err = open(&a)
		}
		if err == nil {
			err = Fits(all, src.Describe())
		}
		if err != nil {
			o.problems[r.Name] = err.Error()
			log.Error("a source that was added cannot be used", "source", r.Name, "error", err)
			continue
		}
		all = append(all, src.Describe())
		o.versions[a.Name] = a.Version()
		if watch == nil {
			o.Sources = append(o.Sources, src)
			continue
		}
		o.Sources = append(o.Sources, &watched{Source: src, records: records, version: a.Version(), watch: watch})
	}
	return o, nil
}

// open makes a source of an added file.
func open(a *Added) (*declared.Source, error) {
	f, mistakes := declared.Load([]byte(a.Text))
	if err := mistakes.Err("the file of " + a.Name); err != nil {
		return nil, err
	}
	return declared.New(f, declared.Options{}.With(a.Set))
}

// Fits refuses a source that cannot be beside others: by its name, its tables or its
// columns.
func Fits(beside []source.Description, d source.Description) error {
	var kinds document.Kinds
	for _, other := range beside {
		if other.Name == d.Name {
			return domain.Errorf(domain.CodeConflict, "there is a source %s already: give this one another name with --name, or in the file", d.Name)
		}
		for i := range d.Kinds {
			if k := &d.Kinds[i]; other.Kinds.Of(k.Kind) != nil || other.Kinds.Table(k.Plural) != nil {
				return domain.Errorf(domain.CodeConflict, "the table %s is one of the source %s: give the source or its stream another name", k.Plural, other.Name)
			}
		}
		kinds = append(kinds, other.Kinds...)
	}
	if err := append(kinds, d.Kinds...).Check(); err != nil {
		return err
	}
	_, err := source.Quota(append(append([]source.Description{}, beside...), d), 0)
	return err
}

// watched is a source whose file may be changed by another process.
type watched struct {
	*declared.Source
	records record.Store
	version string
	watch   Watch
}

// Call implements source.Source. A file that was changed, or removed, is not collected by
// any more: the job waits for a process that has the new one.
func (w *watched) Call(ctx context.Context, c source.Call) source.Result {
	a, there, err := get(ctx, w.records, w.Name())
	if err == nil && there && a.Version() == w.version {
		return w.Source.Call(ctx, c)
	}
	why := "the file of the source " + w.Name() + " was changed; this process is about to take it up"
	if err != nil {
		why = "whether the file of the source " + w.Name() + " was changed could not be found out"
	} else {
		w.watch.Stale(w.Name())
	}
	return source.Result{
		Verdict: source.Wait, Free: true, RetryAfter: takeUp,
		Failure: &domain.Failure{Kind: domain.FailureServer, Message: why},
	}
}

// With implements source.Bound.
func (w *watched) With(set map[string]string) (source.Source, error) {
	one, err := w.Source.With(set)
	if err != nil {
		return nil, err
	}
	inner, ok := one.(*declared.Source)
	if !ok {
		return nil, domain.Errorf(domain.CodeInternal, "the source %s is another one with values of its own", w.Name())
	}
	return &watched{inner, w.records, w.version, w.watch}, nil
}

// takeUp is about how long a process needs to take up a file that was changed.
const takeUp = time.Second
