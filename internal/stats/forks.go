package stats

import (
	"slices"
	"strings"
	"time"

	"sluice/internal/document"
)

// forks tells apart the account's own commits that only forks hold. Who works
// through a fork has the same commit there and in the repository it was merged
// into; it must count once. So commits in forks wait until all others have
// been seen.
type forks struct {
	// known is set once the account is known to have forks. Without any,
	// nothing is remembered.
	known   bool
	waiting map[string]forkedCommit
	// outside has a fingerprint of every own commit outside of forks: eight
	// bytes for each, so that a second pass over all commits is spared. Of a
	// million commits, two share one with a probability of 1 in 30 million.
	outside []uint64
}

type forkedCommit struct {
	repository int64
	home       repository
	contribution
}

// contribution is what one commit adds to the figures.
type contribution struct {
	at                   time.Time
	additions, deletions int64
	measured             bool
}

func contributionOf(d *document.Document) contribution {
	return contribution{d.CreatedAt, d.Additions, d.Deletions, d.Measured}
}

// wait puts a commit in a fork aside. Of several forks that hold it, the one
// with the lowest id counts, whatever order they come in.
func (f *forks) wait(d *document.Document, home repository) {
	id := commitID(d)
	if other, ok := f.waiting[id]; ok && other.repository <= d.Repository {
		return
	}
	f.waiting[id] = forkedCommit{d.Repository, home, contributionOf(d)}
}

// exclude remembers a commit that was counted outside of forks.
func (f *forks) exclude(d *document.Document) {
	if f.known {
		f.outside = append(f.outside, fingerprint(commitID(d)))
	}
}

// settle calls count for each commit that only forks hold.
func (f *forks) settle(count func(repository, contribution)) {
	slices.Sort(f.outside)
	for id, c := range f.waiting {
		if _, found := slices.BinarySearch(f.outside, fingerprint(id)); !found {
			count(c.home, c.contribution)
		}
	}
}

// commitID is the part of a commit's name that is the same in every
// repository that holds it.
func commitID(d *document.Document) string {
	if _, sha, ok := strings.Cut(d.Name, ":"); ok {
		return sha
	}
	return d.Name
}

// fingerprint is FNV-1a: unlike the runtime's hash it is the same in every
// process, so that recomputing gives the same figures.
func fingerprint(s string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime
	}
	return h
}
