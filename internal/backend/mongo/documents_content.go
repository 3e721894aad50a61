package mongo

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/bson"

	"sluice/internal/domain"
)

// content is what a record shows, in one number that is never 0: a copy that brings
// nothing but a later version has the same. Values of its own count one by one, as
// they may be filled in later.
func content(r *documentRecord, raw []byte) (int64, error) {
	shown := *r
	shown.Version, shown.Own, shown.Payload = 0, nil, nil
	plain, err := bson.Marshal(&shown)
	if err != nil {
		return 0, domain.Errorf(domain.CodeInternal, "encode %s: %w", r.ID, err)
	}
	return withOwn(number(append(plain, raw...)), r.Own)
}

// withOwn is a content with values of its own that it had not.
func withOwn(content int64, own bson.D) (int64, error) {
	if own == nil {
		own = bson.D{}
	}
	plain, err := bson.Marshal(own)
	if err != nil {
		return 0, domain.Errorf(domain.CodeInternal, "encode a document's own values: %w", err)
	}
	elements, err := bson.Raw(plain).Elements()
	if err != nil {
		return 0, domain.Errorf(domain.CodeInternal, "encode a document's own values: %w", err)
	}
	for _, e := range elements {
		content ^= number(e)
	}
	if content == 0 {
		return 1, nil
	}
	return content, nil
}

func number(b []byte) int64 {
	sum := sha256.Sum256(b)
	return int64(binary.LittleEndian.Uint64(sum[:8]))
}

// shows says whether a stored record shows what the item does. One without a content
// is compared by its sum, which was of the version as well.
func (it *item) shows(stored *documentRecord) (bool, error) {
	if stored.Content != 0 {
		return stored.Content == it.record.Content, nil
	}
	if len(stored.Sum) == 0 {
		return false, nil
	}
	r := it.record
	r.Content, r.Presence = 0, Presence{}
	plain, err := bson.Marshal(&r)
	if err != nil {
		return false, domain.Errorf(domain.CodeInternal, "encode %s: %w", r.ID, err)
	}
	sum := sha256.Sum256(plain)
	return bytes.Equal(sum[:16], stored.Sum), nil
}

// joined is a document with the elements of another one behind its own.
func joined(a, b bson.Raw) bson.Raw {
	all := make(bson.Raw, 0, len(a)+len(b))
	all = append(append(all, a[:len(a)-1]...), b[4:]...)
	binary.LittleEndian.PutUint32(all, uint32(len(all)))
	return all
}
