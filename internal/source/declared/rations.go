package declared

import (
	"fmt"

	"sluice/internal/quota"
	"sluice/internal/ration"
	"sluice/internal/source"
)

// Calls draw on the rations that the file states, on all of them that match or on
// none (draws.go). The bucket of a source is its lane: it counts nothing.

// concurrency is how many calls of one owner may be under way, 0 if the file does not
// say: jobs beyond it are not handed out.
func (f *File) concurrency() int {
	least := 0
	for i := range f.Rations {
		if r := &f.Rations[i]; r.Shape == ration.Concurrent && (least == 0 || r.Usable() < least) {
			least = r.Usable()
		}
	}
	return least
}

// bucket is the one that all calls of the source belong to.
func (f *File) bucket() string { return f.Name }

// uncounted is more than anybody asks for.
const uncounted = 1 << 40

func (f *File) sourceRations() []source.Ration {
	return []source.Ration{{Bucket: f.bucket(), Limits: quota.Limits{Limit: uncounted, PointsShared: true}}}
}

// Notes are what of the rations is kept otherwise than it is stated.
func (f *File) Notes() (notes []string) {
	for i := range f.Rations {
		r := &f.Rations[i]
		for _, d := range r.Per {
			if d == ration.PerOwner && f.owner == nil {
				notes = append(notes, fmt.Sprintf("ration %s: without owner: each credential is taken for another owner's", r.Name))
			}
		}
	}
	if f.Unknown {
		notes = append(notes, "ration: unknown asks one call a second; find out what the upstream grants, and state it")
	}
	return notes
}
