package redis

import (
	"context"
	"crypto/sha1"
	"encoding/hex"

	"github.com/redis/rueidis"
)

// coalescerBatch bounds what is sent in one go.
const coalescerBatch = 512

// scriptForEach is a Lua script that is called for many keys in one go.
type scriptForEach struct{ text, hash string }

// loadScriptForEach loads such a script, of one file.
func loadScriptForEach(folder, name string) scriptForEach {
	text, err := scriptFiles.ReadFile(scriptPath(folder, name))
	if err != nil {
		panic(err)
	}
	// Redis names scripts like this; it guards nothing.
	sum := sha1.Sum(text)
	return scriptForEach{string(text), hex.EncodeToString(sum[:])}
}

// scriptCall is one call of a script.
type scriptCall struct {
	key  string
	args []string
}

// run calls the script for each, in one round trip to each server. A server
// that does not know the script is sent it.
func (s scriptForEach) run(ctx context.Context, db *DB, calls []scriptCall) []rueidis.RedisResult {
	commands := make(rueidis.Commands, len(calls))
	for i, c := range calls {
		commands[i] = db.Client.B().Evalsha().Sha1(s.hash).Numkeys(1).Key(c.key).Arg(c.args...).Build()
	}
	answers := sendInBatches(ctx, db, commands)
	var again rueidis.Commands
	var places []int
	for i, answer := range answers {
		if e, ok := rueidis.IsRedisErr(answer.Error()); ok && e.IsNoScript() {
			c := calls[i]
			again = append(again, db.Client.B().Eval().Script(s.text).Numkeys(1).Key(c.key).Arg(c.args...).Build())
			places = append(places, i)
		}
	}
	for i, answer := range sendInBatches(ctx, db, again) {
		answers[places[i]] = answer
	}
	return answers
}

// sendInBatches sends commands, so many at once.
func sendInBatches(ctx context.Context, db *DB, commands rueidis.Commands) []rueidis.RedisResult {
	if len(commands) == 1 {
		return []rueidis.RedisResult{db.Client.Do(ctx, commands[0])}
	}
	answers := make([]rueidis.RedisResult, 0, len(commands))
	for len(commands) > 0 {
		n := min(len(commands), coalescerBatch)
		answers = append(answers, db.Client.DoMulti(ctx, commands[:n]...)...)
		commands = commands[n:]
	}
	return answers
}
