// Package sources is where sources are registered: a line each, and nothing else
// of the program names one. What a source is, it declares itself
// (source.Registration).
package sources

import (
	"slices"
	"sync"

	"sluice/internal/document"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/source/maplestory"
)

// All are the sources that there are. The first that is collected in runs is
// where an account is looked for whose source is not named, and the first of keyed
// records is whose records are meant.
func All() []source.Registration { return slices.Clone(registered()) }

// registered are asked once: every setting that a command has as a flag wants to
// know what sources there are.
var registered = sync.OnceValue(func() []source.Registration {
	return []source.Registration{
		github.Register(),
		maplestory.Register(),
	}
})

// Kinds are the kinds of documents of all sources.
func Kinds() document.Kinds {
	return source.Kinds(descriptions(func(source.Registration) bool { return true }))
}

// Collected describes the sources that are collected in runs, with more that were
// declared in files.
func Collected(more ...source.Registration) []source.Description {
	all := descriptions(func(r source.Registration) bool { return r.Walks != nil })
	for _, r := range more {
		if r.Walks != nil {
			all = append(all, r.Description)
		}
	}
	return all
}

// Taken says whether a source of the program has a name: what a file describes must
// have another one, for accounts and snapshots go by it.
func Taken(name string) bool {
	return slices.ContainsFunc(registered(), func(r source.Registration) bool { return r.Name == name })
}

// Keyed describes the sources of keyed records.
func Keyed() []source.Description {
	return descriptions(func(r source.Registration) bool { return r.Records != nil })
}

func descriptions(of func(source.Registration) bool) (all []source.Description) {
	for _, r := range All() {
		if of(r) {
			all = append(all, r.Description)
		}
	}
	return all
}

// OpenCollected opens the sources that are collected in runs, with more that were
// declared in files.
func OpenCollected(s source.Settings, more ...source.Registration) (opened []source.Source, err error) {
	for _, r := range append(All(), more...) {
		if r.Walks == nil {
			continue
		}
		one, err := r.Walks(s)
		if err != nil {
			return nil, err
		}
		opened = append(opened, one)
	}
	return opened, nil
}

// OpenKeyed opens the sources of keyed records for which there is what they need, with
// more that were declared in files.
func OpenKeyed(s source.Settings, more ...source.Registration) (opened []source.Records, err error) {
	for _, r := range append(All(), more...) {
		if r.Records == nil || r.Needs != "" && s.Text(r.Needs) == "" {
			continue
		}
		one, err := r.Records(s)
		if err != nil {
			return nil, err
		}
		opened = append(opened, one)
	}
	return opened, nil
}

// CheckLogin refuses what cannot be a login of the first source that is collected
// in runs.
func CheckLogin(login string) error {
	all, err := OpenCollected(nil)
	if err != nil {
		return err
	}
	return all[0].CheckLogin(login)
}
