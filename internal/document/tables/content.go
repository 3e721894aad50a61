package tables

import (
	"crypto/sha256"
	"encoding/binary"

	"sluice/internal/document"
)

// contents says what documents hold, in one number each, so that a copy which
// brings nothing new is known as one without reading what is stored. Values of
// their own count apart from all else, as they may be filled in later.
type contents struct {
	own map[document.Kind]Own
	buf []byte
}

// newContents is for one caller: it has a buffer of its own.
func (s *Store[T, P]) newContents() *contents { return &contents{own: s.ownOf} }

// ownByKind are the columns of each kind.
func ownByKind(kinds document.Kinds) map[document.Kind]Own {
	all, by := Own(kinds.Own()), map[document.Kind]Own{}
	for i := range kinds {
		if own := all.Of(kinds, kinds[i].Kind); len(own) > 0 {
			by[kinds[i].Kind] = own
		}
	}
	return by
}

// of is the content of a document, never 0.
func (c *contents) of(d *document.Document) int64 {
	b := c.buf[:0]
	for _, n := range [...]int64{d.Repository, d.Number, d.Stars, d.Additions, d.Deletions, Flags(&d.Fields),
		micros(d.CreatedAt), micros(d.UpdatedAt), micros(d.ClosedAt), micros(d.MergedAt)} {
		b = binary.AppendVarint(b, n)
	}
	for _, text := range [...]string{d.State, d.Title, d.Author, d.Language, d.ClosedBy} {
		b = appendText(b, text)
	}
	b = append(b, d.Raw...)
	c.buf = b
	return withOwn(sum(b), c.ofOwn(d))
}

// ofOwn is what the values of its own add to a document's content, 0 if it has none.
func (c *contents) ofOwn(d *document.Document) int64 {
	if len(d.Own) == 0 {
		return 0
	}
	own, b := c.own[d.Kind], c.buf[:0]
	for i := range own {
		text, number, null := own.Value(i, d)
		if null {
			continue
		}
		b = binary.AppendVarint(appendText(appendText(b, own[i].Name), text), number)
	}
	c.buf = b
	if len(b) == 0 {
		return 0
	}
	return sum(b)
}

// filled is a content with other values of its own.
func (c *contents) filled(content int64, before, after *document.Document) int64 {
	if content == 0 {
		return 0
	}
	return withOwn(content, c.ofOwn(before)^c.ofOwn(after))
}

func withOwn(content, own int64) int64 {
	if content ^= own; content == 0 {
		return 1
	}
	return content
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func sum(b []byte) int64 {
	all := sha256.Sum256(b)
	return int64(binary.LittleEndian.Uint64(all[:8]))
}
