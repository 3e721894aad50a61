package redis

import (
	"context"
	"io/fs"

	"github.com/redis/rueidis"
)

// Failure is what the tests of this package use of the connection kit.
var Failure = failure

// Shorts is how often a short way decided.
func (k *Rations) Shorts() int64 { return k.shorts.Load() }

// AnnounceGap is the least time between two announcements of one process.
const AnnounceGap = announceGap

// Script is a script of a test.
type Script struct{ *luaScript }

// LoadScript joins files to one script.
func LoadScript(files fs.FS, names ...string) Script { return Script{loadScriptFrom(files, names...)} }

// Run calls the script.
func (s Script) Run(ctx context.Context, db *DB, keys, args []string) (rueidis.RedisMessage, error) {
	return s.run(ctx, db, keys, args)
}

// Enter writes down what a process is, once, as when it begins to listen.
func (f *Fleet) Enter(ctx context.Context) { f.answer(ctx, "") }
