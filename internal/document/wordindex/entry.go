package wordindex

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/document"
	"sluice/internal/document/words"
)

// Entry is what is indexed of a document.
type Entry struct {
	// ID orders entries: what was updated later has a greater one, to the second.
	ID  int64
	Key document.Key
	// Words are those that it is found by, each once, in order: the words of its
	// texts, and facets.
	Words []string
}

// Facets are words that no text has, since they begin with a character of private use:
// by them entries are restricted like by any other word.
const facet = "\ue000"

// KindFacet is the word that all entries of a kind have.
func KindFacet(kind document.Kind) string {
	sum := sha256.Sum256([]byte(kind))
	return facet + "k" + hex.EncodeToString(sum[:8])
}

// AccountFacet is the word that all entries of an account have.
func AccountFacet(account int64) string { return facet + "a" + strconv.FormatInt(account, 10) }

// DeletedFacet is the word that all entries have that are gone, or that are not.
func DeletedFacet(deleted bool) string {
	if deleted {
		return facet + "d1"
	}
	return facet + "d0"
}

// low is how many bits of an id tell entries of one second apart.
const low = 29

// newest is the greatest second that an id can hold.
const newest = 1<<(63-low) - 1

// second is what orders an entry.
func (e *Entry) second() int64 { return e.ID >> low }

// next is the id to try when an id is another entry's already.
func next(id int64) int64 { return id&^(1<<low-1) | (id+1)&(1<<low-1) }

// Instant is what results are ordered by: when the document was updated, or created
// if that is not known, or its version.
func Instant(d *document.Document) time.Time {
	switch {
	case !d.UpdatedAt.IsZero():
		return d.UpdatedAt
	case !d.CreatedAt.IsZero():
		return d.CreatedAt
	}
	return d.Version
}

// identify is the id that an entry has unless another one has it.
func identify(d *document.Document) int64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s %s", d.Account, len(d.Kind), d.Kind, d.Name))
	second := min(max(Instant(d).Unix(), 0), newest)
	return second<<low | int64(binary.BigEndian.Uint32(sum[:])&(1<<low-1))
}

// searched are the columns of a kind that are searched.
func searched(d *document.Declaration) (columns []*document.Column) {
	if d == nil {
		return nil
	}
	for i := range d.Columns {
		if c := &d.Columns[i]; c.Searched {
			columns = append(columns, c)
		}
	}
	return columns
}

// Texts are the texts of a document that are searched, with their columns.
func Texts(kinds document.Kinds, d *document.Document) (texts []string, columns []*document.Column, err error) {
	for _, c := range searched(kinds.Of(d.Kind)) {
		v, err := c.Value(d, &document.Place{})
		if err != nil {
			return nil, nil, err
		}
		if !v.Null && v.Text != "" {
			texts, columns = append(texts, v.Text), append(columns, c)
		}
	}
	return texts, columns, nil
}

// NewEntry is a document's; ok is false if it has no words.
func NewEntry(kinds document.Kinds, d *document.Document) (e Entry, ok bool, err error) {
	texts, _, err := Texts(kinds, d)
	if err != nil {
		return Entry{}, false, err
	}
	found := words.Index(texts...)
	if len(found) == 0 {
		return Entry{}, false, nil
	}
	found = append(found, KindFacet(d.Kind), AccountFacet(d.Account), DeletedFacet(d.Deleted))
	slices.Sort(found)
	return Entry{identify(d), d.Key, found}, true, nil
}

// Scheme says what is indexed and how: which columns of which kinds, and by which
// version of package words. An index of another scheme is made anew.
func Scheme(kinds document.Kinds) string {
	var all []string
	for i := range kinds {
		for _, c := range searched(&kinds[i]) {
			all = append(all, string(kinds[i].Kind)+"."+c.Name)
		}
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, " ")))
	return fmt.Sprintf("%d-%x", words.Scheme, sum[:8])
}
