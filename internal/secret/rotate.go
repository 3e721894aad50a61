package secret

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// Rotation changes the key of a key file and seals everything anew. Whoever stops
// anywhere, however hard, begins again with the same call: the file tells how far
// it is. It has the old key until nothing is sealed with it any more.
//
//	one key              nothing was begun, or all is done
//	a key and a next     Prepare was called: every process may open what the next will seal
//	two keys             the new one seals; credentials are sealed anew
type Rotation struct {
	// Path is the key file.
	Path string
	// Store has the credentials.
	Store state.Seals
	// Owner names what an account's credential is sealed for.
	Owner func(source, login string) string
	// Also seals what else there is, such as answers that are kept, with the key of
	// the id, before the old ones leave, and returns how many; nil where there is
	// nothing.
	Also func(ctx context.Context, box *Box, key string) (int, error)
	// Batch is how many are sealed anew in one transaction; 0 means 100.
	Batch int
}

// Rotated is what a rotation has done.
type Rotated struct {
	// Key is the id of the key that seals now, Old are those of the ones before.
	Key string   `json:"key"`
	Old []string `json:"old"`
	// Resealed credentials are under the new key.
	Resealed int `json:"resealed"`
	// Unreadable accounts have credentials that no key of the file opens. They are
	// as they were, and the old keys stay in the file until there are none.
	Unreadable []string `json:"unreadable"`
	// Dropped says that the old keys are in the file no more.
	Dropped bool `json:"dropped"`
}

const defaultBatch = 100

// Prepare puts a new key into the file that seals nothing yet, so that the file can
// be given to other machines first. It returns the key's id.
func (r Rotation) Prepare(ctx context.Context) (string, error) {
	file, err := r.load(ctx)
	if err != nil {
		return "", err
	}
	if len(file.keys) > 1 {
		return "", domain.Errorf(domain.CodeConflict, "a rotation is under way in %s; finish it with `sluice key rotate`", r.Path)
	}
	if file.next == nil {
		file.next = newKey()
		if err := r.store(file); err != nil {
			return "", err
		}
	}
	return keyID(file.next), nil
}

// Run seals everything with the new key, which it makes if there is none yet. With
// drop the old ones leave the file when nothing needs them any more. A key file
// that opens none of the credentials is refused, and stays as it is.
func (r Rotation) Run(ctx context.Context, drop bool) (Rotated, error) {
	var done Rotated
	file, err := r.load(ctx)
	if err != nil {
		return done, err
	}
	if file, err = r.begin(file); err != nil {
		return done, err
	}
	done.Key = keyID(file.keys[0])
	for _, key := range file.keys[1:] {
		done.Old = append(done.Old, keyID(key))
	}
	box, err := OpenFile(r.Path)
	if err != nil {
		return done, err
	}
	// Whoever sealed with the old key while this went on is found by a second look.
	for again := true; again; {
		n, err := r.reseal(ctx, box, &done)
		if err != nil {
			return done, err
		}
		again = n > 0
		if r.Also != nil {
			n, err := r.Also(ctx, box, done.Key)
			if err != nil {
				return done, err
			}
			again = again || n > 0
		}
	}
	if !drop || len(done.Unreadable) > 0 {
		return done, nil
	}
	file.salt, file.keys = file.saltOf(), file.keys[:1]
	if err := r.store(file); err != nil {
		return done, err
	}
	done.Dropped = true
	return done, nil
}

// begin makes the new key the one that seals, unless it does already.
func (r Rotation) begin(file keyFile) (keyFile, error) {
	if len(file.keys) > 1 && file.next == nil {
		return file, nil
	}
	key := file.next
	if key == nil {
		key = newKey()
	}
	// The salt is that of the keys before, whatever is dropped later.
	file.keys, file.next, file.salt = append([][]byte{key}, file.keys...), nil, file.saltOf()
	return file, r.store(file)
}

// reseal goes once through what other keys have sealed. It returns how many
// credentials were sealed anew.
func (r Rotation) reseal(ctx context.Context, box *Box, done *Rotated) (resealed int, err error) {
	limit := r.Batch
	if limit == 0 {
		limit = defaultBatch
	}
	done.Unreadable = nil
	for above := int64(0); ; {
		found, err := r.Store.SealedOtherwise(ctx, done.Key, above, limit)
		if err != nil || len(found) == 0 {
			return resealed, err
		}
		above = found[len(found)-1].Account
		var changes []state.Resealed
		for _, one := range found {
			owner := r.Owner(one.Source, one.Login)
			plain, err := box.Open(one.Credential, owner)
			if err != nil {
				done.Unreadable = append(done.Unreadable, owner)
				continue
			}
			sealed, err := box.Seal(plain, owner)
			if err != nil {
				return resealed, err
			}
			changes = append(changes, state.Resealed{Account: one.Account, Old: one.Credential, New: sealed})
		}
		n, err := r.Store.Reseal(ctx, changes)
		resealed, done.Resealed = resealed+n, done.Resealed+n
		if err != nil {
			return resealed, err
		}
	}
}

// load reads the key file, and refuses one that is not that of the credentials.
func (r Rotation) load(ctx context.Context) (keyFile, error) {
	text, err := os.ReadFile(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return keyFile{}, r.noKeyFile(ctx)
	}
	if err != nil {
		return keyFile{}, domain.Errorf(domain.CodeUnavailable, "key file %s: %w", r.Path, err)
	}
	file, err := parseKeys(string(text))
	if err != nil {
		return file, domain.Errorf(domain.CodeCorrupt, "key file %s is damaged (%w); restore it first", r.Path, err)
	}
	return file, r.opensSome(ctx, file)
}

// noKeyFile says why there is nothing to rotate.
func (r Rotation) noKeyFile(ctx context.Context) error {
	sealed, err := r.Store.SealedOtherwise(ctx, "", 0, 1)
	if err != nil {
		return err
	}
	if len(sealed) == 0 {
		return domain.Errorf(domain.CodeNotFound, "there is no key file %s: nothing was sealed yet", r.Path)
	}
	return domain.Errorf(domain.CodeConflict, "the key file %s is missing, and stored credentials were sealed with key %s: put it back, or name it with --key-file; if it is lost, make a new one (`openssl rand -hex 32`) and renew each account's token with `sluice account set LOGIN --token-file FILE`",
		r.Path, sealed[0].Credential.KeyID)
}

// opensSome refuses a key file that has none of the keys that credentials are sealed
// with: it is that of other data, and to put a new key into it would help nobody.
func (r Rotation) opensSome(ctx context.Context, file keyFile) error {
	known := map[string]bool{}
	for _, key := range file.all() {
		known[keyID(key)] = true
	}
	var foreign string
	for above := int64(0); ; {
		found, err := r.Store.SealedOtherwise(ctx, "", above, defaultBatch)
		if err != nil {
			return err
		}
		for _, one := range found {
			if known[one.Credential.KeyID] {
				return nil
			}
			above, foreign = one.Account, one.Credential.KeyID
		}
		if len(found) == 0 {
			break
		}
	}
	if foreign == "" {
		return nil
	}
	return domain.Errorf(domain.CodeConflict, "key file %s has none of the keys that stored credentials are sealed with (such as %s); nothing was changed: put the right key file there, or name it with --key-file; if it is lost, renew each account's token with `sluice account set LOGIN --token-file FILE`",
		r.Path, foreign)
}

func (r Rotation) store(file keyFile) error {
	if err := writeDurably(r.Path, file.text()); err != nil {
		return domain.Errorf(domain.CodeUnavailable, "key file %s: %w", r.Path, err)
	}
	return nil
}
