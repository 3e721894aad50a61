package secret_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/secret"
)

func readKey(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAnotherFoldersKeyIsNotRotated: what opens nothing is refused and stays as it is.
func TestAnotherFoldersKeyIsNotRotated(t *testing.T) {
	_, _, s := sealedFolder(t)
	foreign, _, _ := sealedFolder(t)
	before := readKey(t, foreign)
	r := secret.Rotation{Path: foreign, Store: s, Owner: owner}
	for _, begin := range []func() error{
		func() error { _, err := r.Run(t.Context(), true); return err },
		func() error { _, err := r.Prepare(t.Context()); return err },
	} {
		if err := begin(); domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("got %v", err)
		}
	}
	if readKey(t, foreign) != before {
		t.Error("the key file was changed")
	}
}

// TestOldKeysStayWhileOneCredentialDoesNotOpen: somebody may bring the key that
// opens it.
func TestOldKeysStayWhileOneCredentialDoesNotOpen(t *testing.T) {
	path, box, s := sealedFolder(t)
	lost := s.stored[3]
	strange := lost
	strange.KeyID = "ffffffff"
	s.stored[3] = strange
	r := secret.Rotation{Path: path, Store: s, Owner: owner}
	done, err := r.Run(t.Context(), true)
	if err != nil || done.Dropped || !slices.Equal(done.Unreadable, []string{owner("github", login(3))}) || done.Resealed != 9 {
		t.Fatalf("%+v, %v", done, err)
	}
	s.stored[3] = lost
	if done, err = r.Run(t.Context(), true); err != nil || !done.Dropped || done.Resealed != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	allOpen(t, box, s, done.Key)
}

func TestAMissingKeyFileIsNotNothingSealed(t *testing.T) {
	_, _, s := sealedFolder(t)
	r := secret.Rotation{Path: filepath.Join(t.TempDir(), "sluice.key"), Store: s, Owner: owner}
	if _, err := r.Run(t.Context(), true); domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("got %v", err)
	}
	clear(s.stored)
	if _, err := r.Run(t.Context(), true); domain.CodeOf(err) != domain.CodeNotFound || !strings.Contains(err.Error(), "nothing was sealed yet") {
		t.Errorf("got %v", err)
	}
}

func TestKeyIDs(t *testing.T) {
	path, box, _ := sealedFolder(t)
	ids, err := secret.KeyIDs(path)
	if sealed := seal(t, box, token, "x"); err != nil || !slices.Equal(ids, []string{sealed.KeyID}) {
		t.Errorf("got %v, %v", ids, err)
	}
	if err := os.WriteFile(path, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := secret.KeyIDs(path); domain.CodeOf(err) != domain.CodeCorrupt {
		t.Errorf("garbage: %v", err)
	}
	if _, err := secret.KeyIDs(path + "no"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("nothing: %v", err)
	}
}
