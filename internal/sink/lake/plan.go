package lake

import (
	"slices"

	"sluice/internal/document"
)

const (
	// fullFile is how many rows a file has at most.
	fullFile = 32 << 10
	// fewFiles is how many small neighbours there may be before they are merged.
	fewFiles = 8
)

// tiers are sizes of files: neighbours of one size or smaller are merged when they
// are many, so that a row is written again a few times at most.
var tiers = []int64{fullFile / 16, fullFile / 2}

// edit is a row that is to be there, or that is not.
type edit struct {
	key    rowKey
	values []document.Value
	gone   bool
}

// sweeping is which rows go that are not named: those of accounts, and those of
// earlier generations.
type sweeping struct {
	purged []int64
	before int64
}

func (s sweeping) takes(account, generation int64) bool {
	return generation < s.before || slices.Contains(s.purged, account)
}

// touches says whether a file may have such rows.
func (s sweeping) touches(f *file) bool {
	return f.Oldest < s.before ||
		slices.ContainsFunc(s.purged, func(account int64) bool { return f.First.Account <= account && account <= f.Last.Account })
}

// part is a stretch of a table: neighbouring files, and what is to be done in their
// range. Files without anything to do stay as they are.
type part struct {
	files []*file
	edits []edit
	dirty bool
}

func (p *part) rows() (n int64) {
	for _, f := range p.files {
		n += f.Rows
	}
	return n + int64(len(p.edits))
}

// plan takes a table apart into the stretches that are written anew and those that
// stay. Files and edits are in the order of keys, and so are the parts.
func plan(files []*file, edits []edit, sweep sweeping) []*part {
	parts := make([]*part, 0, len(files)+1)
	for _, f := range files {
		// What is between the file before and this one.
		before, _ := slices.BinarySearchFunc(edits, f.First, func(e edit, k rowKey) int { return e.key.compare(k) })
		parts = between(parts, edits[:before])
		edits = edits[before:]
		n, found := slices.BinarySearchFunc(edits, f.Last, func(e edit, k rowKey) int { return e.key.compare(k) })
		if found {
			n++
		}
		p := &part{files: []*file{f}, edits: edits[:n:n], dirty: n > 0 || sweep.touches(f)}
		edits = edits[n:]
		parts = append(parts, p)
	}
	parts = between(parts, edits)
	for _, tier := range tiers {
		parts = merge(parts, tier)
	}
	return parts
}

// between adds what lies in no file's range: to the file before, if that is written
// anew in any case.
func between(parts []*part, edits []edit) []*part {
	edits = slices.DeleteFunc(slices.Clone(edits), func(e edit) bool { return e.gone })
	if len(edits) == 0 {
		return parts
	}
	if len(parts) > 0 && parts[len(parts)-1].dirty {
		last := parts[len(parts)-1]
		last.edits = append(last.edits, edits...)
		return parts
	}
	return append(parts, &part{edits: edits, dirty: true})
}

// merge joins neighbours of a size when they are many.
func merge(parts []*part, size int64) []*part {
	var merged []*part
	for len(parts) > 0 {
		n := 0
		for n < len(parts) && parts[n].rows() <= size {
			n++
		}
		if n < fewFiles {
			n = max(n, 1)
			merged = append(merged, parts[:n]...)
		} else {
			one := &part{dirty: true}
			for _, p := range parts[:n] {
				one.files = append(one.files, p.files...)
				one.edits = append(one.edits, p.edits...)
			}
			merged = append(merged, one)
		}
		parts = parts[n:]
	}
	return merged
}
