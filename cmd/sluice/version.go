package main

import (
	"cmp"
	"runtime/debug"

	"sluice/internal/cli"
)

// A release sets these with -ldflags -X; any other build knows what Go writes into
// every program.
var releaseVersion, releaseCommit, releaseDate string

// version is that of the tag, or what Go calls the state of the source.
func version() string {
	if releaseVersion != "" {
		return releaseVersion
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}

// build tells how the program was built.
func build() cli.Build {
	b := cli.Build{Version: version(), Commit: releaseCommit, Built: releaseDate}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Go = info.GoVersion
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = cmp.Or(b.Commit, s.Value)
		case "vcs.time":
			b.Built = cmp.Or(b.Built, s.Value)
		}
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Modules = append(b.Modules, m.Path+" "+m.Version)
	}
	return b
}
