package document

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Filler gives documents that are stored the values of columns that were declared
// since.
type Filler interface {
	// Fill sets values of their own of documents that are still there in just that
	// version, where they have none. Everything else stays as it is: what has changed
	// meanwhile, and what is there already. It is idempotent.
	Fill(ctx context.Context, docs []Document) error
}

// Filling is how far the documents of a store have got the values of all columns
// that are declared.
type Filling struct {
	// After is the last document that was seen to, in the order of scans.
	After Key
	// Seen is how many that were, and Filled how many of them got values.
	Seen, Filled int64
	Done         bool
}

// Fillings is where that is kept, by what is declared (see Kinds.Signature).
type Fillings interface {
	Filling(ctx context.Context, signature string) (Filling, error)
	// SaveFilling keeps how far it is. What is done stays so.
	SaveFilling(ctx context.Context, signature string, f Filling) error
}

// Signature names the columns of values of the sources' own that are declared: with
// another column it is another one.
func (k Kinds) Signature() string {
	var columns []string
	for i := range k {
		for _, c := range k[i].Columns {
			if c.From == FromOwn {
				columns = append(columns, fmt.Sprintf("%q %q %q", k[i].Kind, c.Name, c.Type))
			}
		}
	}
	slices.Sort(columns)
	sum := sha256.Sum256(fmt.Append(nil, columns))
	return hex.EncodeToString(sum[:16])
}

// Missing reads the values of a document's own from its payload and returns those
// that it does not have. A payload that was cut tells nothing.
func (k Kinds) Missing(d *Document) Values {
	kind := k.Of(d.Kind)
	if kind == nil || kind.Read == nil || d.Truncated || len(d.Raw) == 0 {
		return nil
	}
	var f Fields
	kind.Read(d.Raw, &f)
	for name := range f.Own {
		if _, there := d.Own[name]; there || !kind.owns(name) {
			delete(f.Own, name)
		}
	}
	return f.Own
}
