package redis

import (
	"context"
	"crypto/sha1"
	_ "embed" // the scripts
	"encoding/hex"

	"github.com/redis/rueidis"

	"sluice/internal/redisdb"
)

//go:embed scripts/acquire.lua
var acquireText string

//go:embed scripts/release.lua
var releaseText string

// mostAtOnce bounds what is sent in one go.
const mostAtOnce = 512

// script is a Lua script that is called for many keys in one go.
type script struct{ text, hash string }

func newScript(text string) script {
	// Redis names scripts like this; it guards nothing.
	sum := sha1.Sum([]byte(text))
	return script{text, hex.EncodeToString(sum[:])}
}

// call is one call of a script.
type call struct {
	key  string
	args []string
}

// run calls the script for each, in one round trip to each server. A server
// that does not know the script is sent it.
func (s script) run(ctx context.Context, db *redisdb.DB, calls []call) []rueidis.RedisResult {
	commands := make(rueidis.Commands, len(calls))
	for i, c := range calls {
		commands[i] = db.Client.B().Evalsha().Sha1(s.hash).Numkeys(1).Key(c.key).Arg(c.args...).Build()
	}
	answers := do(ctx, db, commands)
	var again rueidis.Commands
	var places []int
	for i, answer := range answers {
		if e, ok := rueidis.IsRedisErr(answer.Error()); ok && e.IsNoScript() {
			c := calls[i]
			again = append(again, db.Client.B().Eval().Script(s.text).Numkeys(1).Key(c.key).Arg(c.args...).Build())
			places = append(places, i)
		}
	}
	for i, answer := range do(ctx, db, again) {
		answers[places[i]] = answer
	}
	return answers
}

// do sends commands, so many at once.
func do(ctx context.Context, db *redisdb.DB, commands rueidis.Commands) []rueidis.RedisResult {
	if len(commands) == 1 {
		return []rueidis.RedisResult{db.Client.Do(ctx, commands[0])}
	}
	answers := make([]rueidis.RedisResult, 0, len(commands))
	for len(commands) > 0 {
		n := min(len(commands), mostAtOnce)
		answers = append(answers, db.Client.DoMulti(ctx, commands[:n]...)...)
		commands = commands[n:]
	}
	return answers
}
