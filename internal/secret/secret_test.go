package secret_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
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
		refused(t, b, s, owner, domain.CodeConflict)
	}
}

func TestTamperingIsRefused(t *testing.T) {
	b := newBox(t, key(1))
	s := seal(t, b, token, "github:ann")
	for i := range s.Data {
		changed := state.Sealed{KeyID: s.KeyID, Data: slices.Clone(s.Data)}
		changed.Data[i] ^= 1
		refused(t, b, changed, "github:ann", domain.CodeConflict)
		refused(t, b, state.Sealed{KeyID: s.KeyID, Data: s.Data[:i]}, "github:ann", domain.CodeConflict)
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
	refused(t, before, fresh, "github:ann", domain.CodeConflict)
	refused(t, newBox(t, key(2)), old, "github:ann", domain.CodeConflict)
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

// sealed tells whether there are secrets already.
func sealed(there bool) func() (bool, error) { return func() (bool, error) { return there, nil } }

func open(t *testing.T, dir string) *secret.Box {
	t.Helper()
	b, err := secret.OpenFolder(dir, sealed(false))
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
	other := open(t, t.TempDir())
	seal(t, other, token, "github:ann")
	if other.Name(token) == open(t, dir).Name(token) {
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
		_, err := secret.OpenFolder(dir, sealed(true))
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
}

// TestNoKeyIsMadeByReading opens a folder again and again without sealing.
func TestNoKeyIsMadeByReading(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	if _, err := b.Open(state.Sealed{KeyID: "12345678", Data: make([]byte, 40)}, "github:ann"); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("opening without a key: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
	s := seal(t, b, token, "github:ann")
	if plain, err := b.Open(s, "github:ann"); err != nil || plain != token {
		t.Errorf("got %q, %v", plain, err)
	}
}

// TestMissingKeyIsNotReplaced takes the key file away from a folder whose
// secrets were sealed with it.
func TestMissingKeyIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sluice.key")
	s := seal(t, open(t, dir), token, "github:ann")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	b, err := secret.OpenFolder(dir, sealed(true))
	if err != nil {
		t.Fatal(err)
	}
	_, opening := b.Open(s, "github:ann")
	_, sealing := b.Seal(token, "github:ann")
	for what, err := range map[string]error{"opening": opening, "sealing": sealing, "asking": b.Lost()} {
		if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "restore "+path) || !strings.Contains(err.Error(), "sluice account set") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key was made: %v", err)
	}
	// With the file back, everything is as it was.
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	back, err := secret.OpenFolder(dir, sealed(true))
	if err != nil || back.Lost() != nil {
		t.Fatal(err, back.Lost())
	}
	if plain, err := back.Open(s, "github:ann"); err != nil || plain != token {
		t.Errorf("got %q, %v", plain, err)
	}
}

func TestFolderThatIsAway(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "missing"))
	if _, err := b.Seal(token, "github:ann"); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("sealing without a folder: %v", err)
	}
}
