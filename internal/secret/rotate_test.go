package secret_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/secret"
	"sluice/internal/state"
)

// seals are credentials in memory, whose process dies at the n-th call, before or
// after it took effect.
type seals struct {
	stored map[int64]state.Sealed
	left   int
	late   bool
}

var errCrash = errors.New("the process died")

func owner(source, login string) string { return source + ":" + login }

func login(id int64) string { return fmt.Sprint("login-", id) }

func (s *seals) call(do func()) error {
	s.left--
	if s.left == 0 && !s.late {
		return errCrash
	}
	do()
	if s.left == 0 {
		return errCrash
	}
	return nil
}

func (s *seals) SealedOtherwise(_ context.Context, key string, above int64, limit int) (out []state.SealedAccount, err error) {
	err = s.call(func() {
		for _, id := range slices.Sorted(maps.Keys(s.stored)) {
			if id > above && s.stored[id].KeyID != key && len(out) < limit {
				out = append(out, state.SealedAccount{Account: id, Source: "github", Login: login(id), Credential: s.stored[id]})
			}
		}
	})
	return out, err
}

func (s *seals) Reseal(_ context.Context, changes []state.Resealed) (n int, err error) {
	err = s.call(func() {
		for _, c := range changes {
			if now := s.stored[c.Account]; now.KeyID == c.Old.KeyID && string(now.Data) == string(c.Old.Data) {
				s.stored[c.Account], n = c.New, n+1
			}
		}
	})
	return n, err
}

// sealedFolder has a key file and ten credentials.
func sealedFolder(t *testing.T) (path string, box *secret.Box, s *seals) {
	t.Helper()
	dir := t.TempDir()
	box = open(t, dir)
	s = &seals{stored: map[int64]state.Sealed{}}
	for id := range int64(10) {
		s.stored[id+1] = seal(t, box, token+fmt.Sprint(id+1), owner("github", login(id+1)))
	}
	return filepath.Join(dir, secret.FileName), box, s
}

// allOpen checks that a box opens every credential, all of one key.
func allOpen(t *testing.T, box *secret.Box, s *seals, key string) {
	t.Helper()
	for id, sealed := range s.stored {
		if plain, err := box.Open(sealed, owner("github", login(id))); err != nil || plain != token+fmt.Sprint(id) || key != "" && sealed.KeyID != key {
			t.Errorf("%d of key %s opens as %q, %v", id, sealed.KeyID, plain, err)
		}
	}
}

// TestRotationIsResumed dies at every call, and goes on until it is done. All the
// while everything opens, for whoever had the file open before as well.
func TestRotationIsResumed(t *testing.T) {
	for _, late := range []bool{false, true} {
		for n := 1; ; n++ {
			path, running, s := sealedFolder(t)
			name := running.Name(token)
			r := secret.Rotation{Path: path, Store: s, Owner: owner, Batch: 3}
			s.left, s.late = n, late
			_, err := r.Run(t.Context(), true)
			crashed := errors.Is(err, errCrash)
			if err != nil && !crashed {
				t.Fatal(err)
			}
			allOpen(t, running, s, "")
			s.left = 0
			done, err := r.Run(t.Context(), true)
			if err != nil || !done.Dropped || len(done.Unreadable) > 0 {
				t.Fatalf("%+v, %v", done, err)
			}
			again, err := secret.OpenFile(path)
			if err != nil {
				t.Fatal(err)
			}
			allOpen(t, again, s, done.Key)
			if again.Name(token) != name {
				t.Fatal("names did not outlive the rotation")
			}
			if text, err := os.ReadFile(path); err != nil || strings.Count(string(text), "\n") != 2 {
				t.Fatalf("the file has other keys: %v", err)
			}
			if !crashed {
				break
			}
		}
	}
}

// TestSeveralMachines: with copies of the key file, every step leaves everything
// readable to machines that are a step behind.
func TestSeveralMachines(t *testing.T) {
	path, _, s := sealedFolder(t)
	r := secret.Rotation{Path: path, Store: s, Owner: owner}
	other := filepath.Join(t.TempDir(), "copy.key")
	distribute := func() {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(other, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	distribute()
	machine, err := secret.OpenFile(other)
	if err != nil {
		t.Fatal(err)
	}
	next, err := r.Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if repeated, err := r.Prepare(t.Context()); err != nil || repeated != next {
		t.Errorf("preparing again makes another key: %v", err)
	}
	distribute()
	// A machine that has the prepared file still seals with the old key.
	if sealed := seal(t, machine, token, "x"); sealed.KeyID == next {
		t.Error("the next key seals already")
	}
	done, err := r.Run(t.Context(), false)
	if err != nil || done.Key != next || done.Resealed != 10 || done.Dropped {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := r.Prepare(t.Context()); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("preparing while it is under way: %v", err)
	}
	allOpen(t, machine, s, next)
	// It adds an account meanwhile, and the last step finds it.
	s.stored[11] = seal(t, machine, token+"11", owner("github", login(11)))
	distribute()
	done, err = r.Run(t.Context(), true)
	if err != nil || done.Resealed != 1 || !done.Dropped {
		t.Fatalf("%+v, %v", done, err)
	}
	distribute()
	allOpen(t, machine, s, next)
	if sealed := seal(t, machine, token, "x"); sealed.KeyID != next {
		t.Error("the old key still seals")
	}
}

func TestRotationLeavesWhatItCannotOpen(t *testing.T) {
	path, _, s := sealedFolder(t)
	s.stored[4] = state.Sealed{KeyID: "feedbeef", Data: []byte("sealed with a key that is lost")}
	done, err := secret.Rotation{Path: path, Store: s, Owner: owner}.Run(t.Context(), true)
	if err != nil || done.Dropped || done.Resealed != 9 || !slices.Equal(done.Unreadable, []string{"github:login-4"}) || s.stored[4].KeyID != "feedbeef" {
		t.Errorf("%+v, %v", done, err)
	}
}
