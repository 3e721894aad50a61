// Package backup keeps a copy of a data folder in one file and brings it back.
//
// A backup is a tar file compressed with zstd. Its first entry is the manifest,
// which tells the size and the SHA-256 of every other part; the second is the
// SHA-256 of the manifest. So everything can be proved before anything is
// touched, and a file that was cut off or changed is refused.
//
//   - backup.go: Manifest, and what is asked of the database.
//   - make.go: Make, which copies a folder while its service runs.
//   - parts.go: the folder in which a backup is put together.
//   - pack.go: how a backup is written and read.
//   - room.go: what is said where something cannot be read or written.
//   - restore.go: Restore, which puts a folder in the place of another.
package backup

import (
	"context"
	"time"
)

// Format is the version of what a backup looks like.
const Format = 1

// Manifest is what a backup says of itself.
type Manifest struct {
	Format int `json:"format"`
	// Program is the version that made it, and Made when.
	Program string    `json:"program"`
	Made    time.Time `json:"made"`
	// Schema is the version of the database's tables.
	Schema int64 `json:"schema"`
	// Counts tells how many there are of the main things.
	Counts map[string]int64 `json:"counts"`
	// Keys are the ids of the keys that credentials are sealed with; WithKey says
	// whether the key file is in the backup.
	Keys    []string `json:"keys"`
	WithKey bool     `json:"with_key"`
	Parts   []Part   `json:"parts"`
}

// Part is a file of the folder.
type Part struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Has says whether a part is there.
func (m Manifest) Has(name string) bool {
	for _, p := range m.Parts {
		if p.Name == name {
			return true
		}
	}
	return false
}

// Contents is what a database holds.
type Contents struct {
	// Schema is the version of its tables, and Known the newest that the program
	// knows. Of a newer one nothing else is told.
	Schema, Known int64
	Counts        map[string]int64
	Keys          []string
}

// Database is what is asked of the embedded database.
type Database interface {
	// Copy writes a consistent copy of a database that may be in use. Where there is
	// no room for it, it returns ErrNoRoom.
	Copy(ctx context.Context, from, to string) error
	// Examine reads a database whole, refuses one that is damaged, and tells what is
	// in it.
	Examine(ctx context.Context, path string) (Contents, error)
	// Lock keeps other processes out of a folder, until released.
	Lock(dir, holder string) (release func(), err error)
}

// The files of a data folder that a backup may hold.
const (
	databaseFile = "sluice.db"
	keyFile      = "sluice.key"
	configFile   = "sluice.yaml"
)
