package redis

import (
	"embed"
	"io/fs"

	"sluice/internal/redisdb"
)

//go:embed scripts/*.lua
var files embed.FS

// scripts are the scripts by name.
var scripts = loadScripts()

type scriptSet struct {
	set, remove, take, done, again                                       *redisdb.Script
	keySet, keyRemove, keyClaim, keyDone, keyAgain, keyCheck, keyRebuilt *redisdb.Script
}

func loadScripts() scriptSet {
	folder, err := fs.Sub(files, "scripts")
	if err != nil {
		folder = files
	}
	load := func(common, name string) *redisdb.Script {
		return redisdb.LoadScript(folder, common+".lua", name+".lua")
	}
	set := func(name string) *redisdb.Script { return load("common", name) }
	keys := func(name string) *redisdb.Script { return load("keys", "key"+name) }
	return scriptSet{
		set: set("set"), remove: set("remove"), take: set("take"), done: set("done"), again: set("again"),
		keySet: keys("set"), keyRemove: keys("remove"), keyClaim: keys("claim"), keyDone: keys("done"),
		keyAgain: keys("again"), keyCheck: keys("check"), keyRebuilt: keys("rebuilt"),
	}
}
