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
	"os"
	"path/filepath"

	"sluice/internal/domain"
	"sluice/internal/state"
)

const (
	keySize  = 32
	fileName = "sluice.key"
)

// Box seals with its newest key and opens with any of its keys.
type Box struct {
	newest string
	keys   map[string]cipher.AEAD
	// salt comes from the oldest key, so that names outlive a rotation.
	salt []byte
}

// NewBox makes a box from keys of 32 bytes, the newest first. Older keys only
// open what was sealed before a rotation.
func NewBox(keys ...[]byte) (*Box, error) {
	if len(keys) == 0 {
		return nil, domain.Errorf(domain.CodeInvalid, "a box needs at least one key")
	}
	b := &Box{keys: map[string]cipher.AEAD{}}
	for i, key := range keys {
		if len(key) != keySize {
			return nil, domain.Errorf(domain.CodeInvalid, "key %d has %d bytes; it needs %d", i+1, len(key), keySize)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		sum := sha256.Sum256(append([]byte("sluice key id\x00"), key...))
		id := hex.EncodeToString(sum[:4])
		salt := sha256.Sum256(append([]byte("sluice owner salt\x00"), key...))
		b.keys[id], b.salt = aead, salt[:]
		if i == 0 {
			b.newest = id
		}
	}
	return b, nil
}

// OpenFolder makes a box from the key file of a data folder, which it creates
// with a random key if there is none. The file holds one hexadecimal key a
// line, the newest first.
func OpenFolder(dir string) (*Box, error) {
	path := filepath.Join(dir, fileName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = createKey(path)
	}
	return open(path, text, err)
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
	keys, err := parseKeys(string(text))
	var b *Box
	if err == nil {
		b, err = NewBox(keys...)
	}
	if err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "key file %s is damaged (%w); restore it, or delete it and add every account again", path, err)
	}
	return b, nil
}

func createKey(path string) ([]byte, error) {
	key := make([]byte, keySize)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	text := []byte(hex.EncodeToString(key) + "\n")
	return text, writeDurably(path, text)
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
	aead := b.keys[b.newest]
	nonce := make([]byte, aead.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return state.Sealed{}, fmt.Errorf("seal: %w", err)
	}
	return state.Sealed{KeyID: b.newest, Data: aead.Seal(nonce, nonce, []byte(plain), []byte(owner))}, nil
}

// Open decrypts a secret that was sealed for the same record.
func (b *Box) Open(s state.Sealed, owner string) (string, error) {
	aead, ok := b.keys[s.KeyID]
	if !ok {
		return "", domain.Errorf(domain.CodeUnauthorized, "the credential of %s was sealed with key %s, which is not in the key file", owner, s.KeyID)
	}
	n := aead.NonceSize()
	if len(s.Data) < n {
		return "", domain.Errorf(domain.CodeCorrupt, "the stored credential of %s is damaged; add the account again", owner)
	}
	plain, err := aead.Open(nil, s.Data[:n], s.Data[n:], []byte(owner))
	if err != nil {
		return "", domain.Errorf(domain.CodeCorrupt, "the stored credential of %s does not open; add the account again", owner)
	}
	return string(plain), nil
}

// Name returns a short salted hash that stands for a secret wherever people
// or programs need to tell secrets apart.
func (b *Box) Name(secret string) string {
	mac := hmac.New(sha256.New, b.salt)
	mac.Write([]byte(secret))
	return hex.EncodeToString(mac.Sum(nil)[:6])
}
