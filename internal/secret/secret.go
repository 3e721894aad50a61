// Package secret encrypts credentials at rest and names them without revealing
// them. Secrets are sealed with AES-256-GCM; what a secret belongs to is bound
// to it as associated data, so a sealed secret moved to another record does
// not open.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// FileName is the name of the key file in a data folder.
const FileName = "sluice.key"

const keySize = 32

// Box seals with its newest key and opens with any of its keys. One of a data
// folder without a key file has none until it seals for the first time.
type Box struct {
	mu     sync.RWMutex
	newest string
	keys   map[string]cipher.AEAD
	// salt comes from the oldest key, so that names outlive a rotation.
	salt []byte
	// path is where a first key is put; lost says that there was one.
	path string
	lost bool
	// read tells which writing of the key file was read last.
	read stamp
}

// NewBox makes a box from keys of 32 bytes, the newest first. Older keys only
// open what was sealed before a rotation.
func NewBox(keys ...[]byte) (*Box, error) {
	if len(keys) == 0 {
		return nil, domain.Errorf(domain.CodeInvalid, "a box needs at least one key")
	}
	b := &Box{}
	if err := b.take(keyFile{keys: keys}); err != nil {
		return nil, err
	}
	return b, nil
}

// take makes the keys of a file those of the box. What older ones sealed it goes on
// opening.
func (b *Box) take(file keyFile) error {
	keys := maps.Clone(b.keys)
	if keys == nil {
		keys = map[string]cipher.AEAD{}
	}
	for i, key := range file.all() {
		if len(key) != keySize {
			return domain.Errorf(domain.CodeInvalid, "key %d has %d bytes; it needs %d", i+1, len(key), keySize)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return fmt.Errorf("key %d: %w", i+1, err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return fmt.Errorf("key %d: %w", i+1, err)
		}
		keys[keyID(key)] = aead
	}
	b.keys, b.newest, b.salt = keys, keyID(file.keys[0]), file.saltOf()
	return nil
}

// OpenFolder makes a box from the key file of a data folder, which holds one
// hexadecimal key a line, the newest first. It never writes: where there is no
// file, the first secret that is sealed makes one with a random key, unless
// sealed says that there are secrets already, whose key is missing then.
func OpenFolder(dir string, sealed func() (bool, error)) (*Box, error) {
	path := filepath.Join(dir, FileName)
	text, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return open(path, text, err)
	}
	lost, err := sealed()
	return &Box{path: path, lost: lost}, err
}

// Lost says what to do when the key file is missing though there are secrets
// that were sealed with it; nil if it is not.
func (b *Box) Lost() error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if !b.lost {
		return nil
	}
	return domain.Errorf(domain.CodeConflict, "the key file %s is missing, and stored credentials were sealed with it: %s", b.path, b.remedy())
}

// remedy says how credentials get a key that opens them.
func (b *Box) remedy() string {
	file := b.path
	if file == "" {
		file = "the key file"
	}
	return "restore " + file + " from a backup, start again and resume what was paused (`sluice account resume LOGIN`); if it is lost, make a new one (`openssl rand -hex 32`) and renew each account's token with `sluice account set LOGIN --token-file FILE`"
}

// OpenFile makes a box from a key file that must exist: one that several
// machines share.
func OpenFile(path string) (*Box, error) {
	text, err := os.ReadFile(path)
	return open(path, text, err)
}

func open(path string, text []byte, err error) (*Box, error) {
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "key file %s: %w", path, err)
	}
	file, err := parseKeys(string(text))
	b := &Box{path: path, read: stampOf(path)}
	if err == nil {
		err = b.take(file)
	}
	if err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "key file %s is damaged (%w); restore it, or put a new one there (`openssl rand -hex 32`) and renew every account's token", path, err)
	}
	return b, nil
}

// createKey makes the first key of a data folder.
func (b *Box) createKey() error {
	file := keyFile{keys: [][]byte{newKey()}}
	if err := writeDurably(b.path, file.text()); err != nil {
		return domain.Errorf(domain.CodeUnavailable, "key file %s: %w", b.path, err)
	}
	b.read = stampOf(b.path)
	return b.take(file)
}

// writeDurably creates a file that survives whatever happens next: credentials
// sealed with a key that is gone are lost. It is there whole or not at all.
func writeDurably(path string, text []byte) error {
	part := path + ".part"
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Seal encrypts a secret for the record that owner names.
func (b *Box) Seal(plain, owner string) (state.Sealed, error) {
	id, aead, err := b.sealing()
	if err != nil {
		return state.Sealed{}, err
	}
	nonce := make([]byte, aead.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return state.Sealed{}, fmt.Errorf("seal: %w", err)
	}
	return state.Sealed{KeyID: id, Data: aead.Seal(nonce, nonce, []byte(plain), []byte(owner))}, nil
}

// sealing returns the newest key, which is made if there was never one.
func (b *Box) sealing() (string, cipher.AEAD, error) {
	if err := b.Lost(); err != nil {
		return "", nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// Somebody may have rotated the key since.
	if err := b.reread(); err != nil {
		return "", nil, err
	}
	if b.newest == "" {
		if err := b.createKey(); err != nil {
			return "", nil, err
		}
	}
	return b.newest, b.keys[b.newest], nil
}

// Open decrypts a secret that was sealed for the same record. One that does not
// open is an error of code conflict that says what to do.
func (b *Box) Open(s state.Sealed, owner string) (string, error) {
	aead, ok := b.keyOf(s.KeyID)
	if !ok {
		return "", domain.Errorf(domain.CodeConflict, "the credential of %s was sealed with key %s, which is not in the key file: %s", owner, s.KeyID, b.remedy())
	}
	n := aead.NonceSize()
	if len(s.Data) < n {
		return "", domain.Errorf(domain.CodeConflict, "the stored credential of %s is damaged; renew it with `sluice account set LOGIN --token-file FILE`", owner)
	}
	plain, err := aead.Open(nil, s.Data[:n], s.Data[n:], []byte(owner))
	if err != nil {
		return "", domain.Errorf(domain.CodeConflict, "the stored credential of %s does not open; renew it with `sluice account set LOGIN --token-file FILE`", owner)
	}
	return string(plain), nil
}

// keyOf finds a key by its id, in the file too if somebody has rotated it since.
func (b *Box) keyOf(id string) (cipher.AEAD, bool) {
	b.mu.RLock()
	aead, ok := b.keys[id]
	b.mu.RUnlock()
	if ok {
		return aead, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// A file that cannot be read holds no such key.
	if err := b.reread(); err != nil {
		return nil, false
	}
	aead, ok = b.keys[id]
	return aead, ok
}

// Name returns a short salted hash that stands for a secret wherever people
// or programs need to tell secrets apart.
func (b *Box) Name(secret string) string {
	b.mu.RLock()
	mac := hmac.New(sha256.New, b.salt)
	b.mu.RUnlock()
	mac.Write([]byte(secret))
	return hex.EncodeToString(mac.Sum(nil)[:6])
}
