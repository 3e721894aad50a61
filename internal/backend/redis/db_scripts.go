package redis

import (
	"context"
	"embed"
	"io/fs"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/domain"
)

//go:embed scripts/*/*.lua
var scriptFiles embed.FS

// scriptTime is how long a script may take to answer, unless something else is
// said. It is long enough for a server that forks or loads.
const scriptTime = 10 * time.Second

// restoreTries is how often a state that vanishes again and again is restored
// for one caller.
const restoreTries = 4

// luaScript is a Lua script, sent once and called by its hash from then on.
type luaScript struct{ lua *rueidis.Lua }

// loadScript loads a script of one of the adapters, whose files are in a folder
// of their own: shared functions first, the script that uses them last. What
// lies in another adapter's folder is named with it.
func loadScript(folder string, names ...string) *luaScript {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = scriptPath(folder, name)
	}
	return loadScriptFrom(scriptFiles, paths...)
}

func scriptPath(folder, name string) string {
	if !strings.Contains(name, "/") {
		name = folder + "/" + name
	}
	return "scripts/" + name + ".lua"
}

// loadScriptFrom joins files of a folder to one script: shared functions first,
// the script that uses them last. A file that is missing is a mistake of the
// program, so it panics.
func loadScriptFrom(files fs.FS, names ...string) *luaScript {
	var text strings.Builder
	for _, name := range names {
		part, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err)
		}
		text.Write(part)
		text.WriteByte('\n')
	}
	return &luaScript{rueidis.NewLuaScript(text.String())}
}

// run calls the script. A server that forgot it is sent it again.
func (s *luaScript) run(ctx context.Context, db *DB, keys, args []string) (rueidis.RedisMessage, error) {
	m, err := s.lua.Exec(ctx, db.Client, keys, args).ToMessage()
	return m, failure(err)
}

// runWithin is run that has to be answered in time.
func (s *luaScript) runWithin(ctx context.Context, limit time.Duration, db *DB, keys, args []string) (rueidis.RedisMessage, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	m, err := s.run(limited, db, keys, args)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = domain.Errorf(domain.CodeUnavailable, "redis did not answer within %v", limit)
	}
	return m, err
}
