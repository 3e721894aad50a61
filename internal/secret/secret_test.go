package secret_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/secret"
	"sluice/internal/state"
)

const token = "ghp_recognisable"

func key(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func newBox(t *testing.T, keys ...[]byte) *secret.Box {
	t.Helper()
	b, err := secret.NewBox(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func seal(t *testing.T, b *secret.Box, plain, owner string) state.Sealed {
	t.Helper()
	s, err := b.Seal(plain, owner)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refused checks that a secret does not open, for the stated reason.
func refused(t *testing.T, b *secret.Box, s state.Sealed, owner string, code domain.Code) {
	t.Helper()
	plain, err := b.Open(s, owner)
	if plain != "" || domain.CodeOf(err) != code {
		t.Errorf("got %q and %v, want an error of code %s", plain, err, code)
	}
	if err != nil && (strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), owner)) {
		t.Errorf("%q must name the owner and not the secret", err)
	}
}

func TestSealAndOpen(t *testing.T) {
	b := newBox(t, key(1))
	for _, plain := range []string{token, "", "ключ\x00\xff", strings.Repeat("x", 4096)} {
		s := seal(t, b, plain, "github:ann")
		if got, err := b.Open(s, "github:ann"); err != nil || got != plain {
			t.Errorf("got %q, %v; want %q", got, err, plain)
		}
		if plain != "" && bytes.Contains(s.Data, []byte(plain)) {
			t.Errorf("%q is sealed in clear", plain)
		}
	}
	if first, second := seal(t, b, token, "o"), seal(t, b, token, "o"); bytes.Equal(first.Data, second.Data) {
		t.Error("the same secret is sealed the same twice")
	}
}

func TestOtherOwnerIsRefused(t *testing.T) {
	b := newBox(t, key(1))
	s := seal(t, b, token, "github:ann")
	for _, owner := range []string{"github:bob", "github:an", "github:ann "} {
		refused(t, b, s, owner, domain.CodeCorrupt)
	}
}

func TestTamperingIsRefused(t *testing.T) {
	b := newBox(t, key(1))
	s := seal(t, b, token, "github:ann")
	for i := range s.Data {
		changed := state.Sealed{KeyID: s.KeyID, Data: slices.Clone(s.Data)}
		changed.Data[i] ^= 1
		refused(t, b, changed, "github:ann", domain.CodeCorrupt)
		refused(t, b, state.Sealed{KeyID: s.KeyID, Data: s.Data[:i]}, "github:ann", domain.CodeCorrupt)
	}
}

func TestRotation(t *testing.T) {
	before := newBox(t, key(1))
	old := seal(t, before, token, "github:ann")
	after := newBox(t, key(2), key(1))
	if got, err := after.Open(old, "github:ann"); err != nil || got != token {
		t.Errorf("got %q, %v", got, err)
	}
	fresh := seal(t, after, token, "github:ann")
	if fresh.KeyID == old.KeyID {
		t.Error("the older key still seals")
	}
	refused(t, before, fresh, "github:ann", domain.CodeUnauthorized)
	refused(t, newBox(t, key(2)), old, "github:ann", domain.CodeUnauthorized)
	if before.Name(token) != after.Name(token) {
		t.Error("a name does not outlive the rotation")
	}
}

func TestName(t *testing.T) {
	b := newBox(t, key(1))
	name := b.Name(token)
	if name != b.Name(token) || name == b.Name(token+"2") || strings.Contains(token, name) || name == "" {
		t.Errorf("the name is %q", name)
	}
	// Without the key nobody can tell which token a name stands for.
	if name == newBox(t, key(2)).Name(token) {
		t.Error("names are not salted")
	}
}

func TestBadKeys(t *testing.T) {
	for _, keys := range [][][]byte{nil, {key(1)[:31]}, {key(1), append(key(2), 0)}, {{}}} {
		if _, err := secret.NewBox(keys...); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%d keys: got %v", len(keys), err)
		}
	}
}

func open(t *testing.T, dir string) *secret.Box {
	t.Helper()
	b, err := secret.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestKeyFile(t *testing.T) {
	dir := t.TempDir()
	s := seal(t, open(t, dir), token, "github:ann")
	path := filepath.Join(dir, "sluice.key")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file has mode %v (%v)", info.Mode(), err)
	}
	if got, err := open(t, dir).Open(s, "github:ann"); err != nil || got != token {
		t.Errorf("after a restart: %q, %v", got, err)
	}
	if other := open(t, t.TempDir()); other.Name(token) == open(t, dir).Name(token) {
		t.Error("two folders have the same key")
	}

	// A new key goes on top; the old one still opens.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rotated := hex.EncodeToString(key(9)) + "\n\n" + string(text)
	if err := os.WriteFile(path, []byte(rotated), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, dir).Open(s, "github:ann"); err != nil || got != token {
		t.Errorf("after a rotation: %q, %v", got, err)
	}
	if fresh := seal(t, open(t, dir), token, "x"); fresh.KeyID == s.KeyID {
		t.Error("the newest key is not the first of the file")
	}
}

func TestDamagedKeyFile(t *testing.T) {
	whole := hex.EncodeToString(key(1))
	for name, text := range map[string]string{
		"empty": "", "blank": "\n \n", "no hexadecimal": "not a key\n", "cut off": whole[:40], "odd": whole[:63], "second cut off": whole + "\n" + whole[:10],
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "sluice.key")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := secret.OpenFolder(dir)
		if domain.CodeOf(err) != domain.CodeCorrupt || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore it") {
			t.Errorf("%s: got %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), whole[:10]) {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
		// What a person may still repair is left as it is.
		if after, _ := os.ReadFile(path); string(after) != text {
			t.Errorf("%s: the file was changed", name)
		}
	}
	if _, err := secret.OpenFolder(filepath.Join(t.TempDir(), "missing")); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("without a folder: %v", err)
	}
}
