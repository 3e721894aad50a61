package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// blank is the content of a file with all of its tables and nothing in them. A
// process that makes many files, as tests do, makes the tables twice and copies
// them from then on: that takes a tenth of the time. One that serves makes a single
// file and keeps nothing.
type blank struct {
	mu      sync.Mutex
	made    int
	content []byte
}

var newFile blank

// write makes a file, whole or not at all. It reports whether it could: what is in
// the way is found by whoever makes the tables.
func (b *blank) write(path string) bool {
	b.mu.Lock()
	content := b.content
	b.mu.Unlock()
	// What another file has left beside this one is SQLite's to judge.
	if content == nil || exists(path+"-wal") || exists(path+"-journal") {
		return false
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-")
	if err != nil {
		return false
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err == nil
}

// learn keeps the content of the second file whose tables were made. It is not
// open any more, so that all of it is in the file.
func (b *blank) learn(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.made++; b.made != 2 {
		return
	}
	if !exists(path + "-wal") {
		// Without it the next one is made as this one was.
		b.content, _ = os.ReadFile(path) //nolint:gosec // the file that was just made
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
