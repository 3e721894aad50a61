package secret

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
)

// keyFile is what a key file says: a hexadecimal key a line, the newest first;
// "next KEY" for one that is not used yet but opens what others sealed with it;
// and "salt VALUE" once the key that names came from is gone.
type keyFile struct {
	keys [][]byte
	next []byte
	salt []byte
}

const (
	nextWord = "next "
	saltWord = "salt "
)

func parseKeys(text string) (file keyFile, err error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		word := ""
		for _, known := range []string{nextWord, saltWord} {
			if rest, has := strings.CutPrefix(line, known); has {
				word, line = known, rest
			}
		}
		value, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			return file, errors.New("a line is not hexadecimal")
		}
		switch word {
		case nextWord:
			file.next = value
		case saltWord:
			file.salt = value
		default:
			file.keys = append(file.keys, value)
		}
	}
	if len(file.keys) == 0 {
		return file, errors.New("it holds no key")
	}
	return file, nil
}

// text is what the file looks like.
func (f keyFile) text() []byte {
	var text bytes.Buffer
	for _, key := range f.keys {
		fmt.Fprintf(&text, "%x\n", key)
	}
	if f.next != nil {
		fmt.Fprintf(&text, "%s%x\n", nextWord, f.next)
	}
	if f.salt != nil {
		fmt.Fprintf(&text, "%s%x\n", saltWord, f.salt)
	}
	return text.Bytes()
}

// all are the keys that open something.
func (f keyFile) all() [][]byte {
	if f.next == nil {
		return f.keys
	}
	return append(slices.Clip(f.keys), f.next)
}

// saltOf is what names are salted with. It comes from the oldest key, and is kept
// when that goes: names outlive a rotation.
func (f keyFile) saltOf() []byte {
	if f.salt != nil {
		return f.salt
	}
	salt := sha256.Sum256(append([]byte("sluice owner salt\x00"), f.keys[len(f.keys)-1]...))
	return salt[:]
}

// KeyIDs reads which keys a key file has, by their ids. An error of code not_found
// says that there is none, one of code corrupt that it holds something else.
func KeyIDs(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, domain.Errorf(domain.CodeNotFound, "there is no key file %s", path)
	}
	box, err := open(path, text, err)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(box.keys)), nil
}

// keyID names a key without telling it.
func keyID(key []byte) string {
	sum := sha256.Sum256(append([]byte("sluice key id\x00"), key...))
	return hex.EncodeToString(sum[:4])
}

func newKey() []byte {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // it never fails
	return key
}

// stamp tells one writing of a file from another.
type stamp struct {
	written time.Time
	size    int64
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}

// reread takes what the key file says now, if it was written since. A file that is
// gone changes nothing: what was read of it goes on to hold.
func (b *Box) reread() error {
	if b.path == "" || b.lost {
		return nil
	}
	now := stampOf(b.path)
	if now == b.read {
		return nil
	}
	text, err := os.ReadFile(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var file keyFile
	if err == nil {
		file, err = parseKeys(string(text))
	}
	if err == nil {
		err = b.take(file)
	}
	if err != nil {
		return domain.Errorf(domain.CodeUnavailable, "key file %s cannot be read again: %w", b.path, err)
	}
	b.read = now
	return nil
}
