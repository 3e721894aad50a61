// Package recordtest is the conformance suite of the record port: what every store
// must do.
package recordtest

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/record"
)

var noon = time.Date(2026, 11, 18, 12, 0, 0, 123_000, time.UTC)

// Run tries a store; open returns an empty one, and another process' view of the
// same.
func Run(t *testing.T, open func(t *testing.T) (one, other record.Store)) {
	for name, test := range map[string]func(*testing.T, record.Store, record.Store){"Kept": kept, "Expired": expired} {
		t.Run(name, func(t *testing.T) {
			one, other := open(t)
			test(t, one, other)
		})
	}
}

func kept(t *testing.T, one, other record.Store) {
	ctx := t.Context()
	if _, err := one.Get(ctx, record.Query, "a"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("what is not there: %v", err)
	}
	large := record.Record{Kind: record.Query, Name: "A", Value: bytes.Repeat([]byte("é'\\\x00"), record.MostValue/5), Changed: noon}
	first := record.Record{Kind: record.Query, Name: "a", Value: []byte("one"), Changed: noon}
	second := record.Record{Kind: record.Query, Name: "a", Value: []byte("two"), Changed: noon.Add(time.Hour)}
	session := record.Record{Kind: record.Session, Name: "a", Value: []byte{0, 1, 255}, Changed: noon, Expires: noon.Add(time.Minute)}
	for _, r := range []record.Record{first, large, second, session} {
		if err := one.Put(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	list, err := other.List(ctx, record.Query)
	if want := []record.Record{large, second}; err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("listed are %.200v, %v", list, err)
	}
	if got, err := other.Get(ctx, record.Session, "a"); err != nil || !reflect.DeepEqual(got, session) {
		t.Errorf("got %v, %v", got, err)
	}
	if there, err := other.Remove(ctx, record.Query, "a"); err != nil || !there {
		t.Errorf("removed: %v, %v", there, err)
	}
	if there, err := one.Remove(ctx, record.Query, "a"); err != nil || there {
		t.Errorf("removed again: %v, %v", there, err)
	}
	if _, err := one.Get(ctx, record.Session, "a"); err != nil {
		t.Errorf("one of another kind is gone: %v", err)
	}
	for _, wrong := range []record.Record{
		{Kind: record.Query}, {Name: "x"}, {Kind: record.Query, Name: strings.Repeat("x", record.MostName+1)},
		{Kind: record.Query, Name: "x", Value: make([]byte, record.MostValue+1)},
	} {
		if err := one.Put(ctx, wrong); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s %.10q of %d bytes: %v", wrong.Kind, wrong.Name, len(wrong.Value), err)
		}
	}
}

func expired(t *testing.T, one, other record.Store) {
	ctx := t.Context()
	for name, expires := range map[string]time.Time{"old": noon, "new": noon.Add(time.Hour), "ever": {}} {
		if err := one.Put(ctx, record.Record{Kind: record.Session, Name: name, Changed: noon, Expires: expires}); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Put(ctx, record.Record{Kind: record.Query, Name: "old", Changed: noon, Expires: noon}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if n, err := other.RemoveExpired(ctx, record.Session, noon.Add(time.Minute)); err != nil || n != want {
			t.Errorf("removed %d, %v, want %d", n, err, want)
		}
	}
	var names []string
	list, err := one.List(ctx, record.Session)
	for _, r := range list {
		names = append(names, r.Name)
	}
	if strings.Join(names, " ") != "ever new" || err != nil {
		t.Errorf("left are %v, %v", names, err)
	}
	if _, err := one.Get(ctx, record.Query, "old"); err != nil {
		t.Errorf("one of another kind is gone: %v", err)
	}
}
