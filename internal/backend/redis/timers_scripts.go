package redis

// keyspaceScripts are the scripts of the keys that expire, by name.
var keyspaceScripts = loadKeyspaceScripts()

type keyspaceScriptSet struct{ set, remove, claim, done, again, check, rebuilt *luaScript }

func loadKeyspaceScripts() keyspaceScriptSet {
	load := func(name string) *luaScript { return loadScript("timers", "due/instants", "keys", "key"+name) }
	return keyspaceScriptSet{
		set: load("set"), remove: load("remove"), claim: load("claim"), done: load("done"), again: load("again"),
		check: load("check"), rebuilt: load("rebuilt"),
	}
}
