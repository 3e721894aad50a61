package redisdb

import (
	"context"
	"io/fs"
	"strings"

	"github.com/redis/rueidis"
)

// Script is a Lua script, sent once and called by its hash from then on.
type Script struct{ lua *rueidis.Lua }

// LoadScript joins files of a folder to one script: shared functions first,
// the script that uses them last. A file that is missing is a mistake of the
// program, so it panics.
func LoadScript(files fs.FS, names ...string) *Script {
	var text strings.Builder
	for _, name := range names {
		part, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err)
		}
		text.Write(part)
		text.WriteByte('\n')
	}
	return &Script{rueidis.NewLuaScript(text.String())}
}

// Run calls the script. A server that forgot it is sent it again.
func (s *Script) Run(ctx context.Context, db *DB, keys, args []string) (rueidis.RedisMessage, error) {
	m, err := s.lua.Exec(ctx, db.Client, keys, args).ToMessage()
	return m, Failure(err)
}
