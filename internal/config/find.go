package config

import (
	"os"
	"path/filepath"
)

// FileName is what a configuration file is called where one is looked for.
const FileName = "sluice.yaml"

// DefaultFiles are the places of a configuration file that nobody named, after the
// data folder: the user's, and the machine's.
func DefaultFiles(env func(string) (string, bool)) []string {
	var files []string
	if own := OwnFile(env); own != "" {
		files = append(files, own)
	}
	return append(files, filepath.Join("/etc/sluice", FileName))
}

// OwnFile is where the configuration file of whoever runs the program lies; "" if
// nothing tells where that is.
func OwnFile(env func(string) (string, bool)) string {
	if dir, set := env("XDG_CONFIG_HOME"); set && filepath.IsAbs(dir) {
		return filepath.Join(dir, "sluice", FileName)
	}
	if home, set := env("HOME"); set && home != "" {
		return filepath.Join(home, ".config", "sluice", FileName)
	}
	return ""
}

// find decides which file settings are read from: the one that is named on the
// command line or in the environment, or else the first that lies in the data
// folder or one of the places of the origin. It says whether it is the data folder's.
func (c *Config) find(from Origin) (beside bool) {
	if c.File != "" {
		return false
	}
	file, named := from.Env(EnvName("config"))
	c.File = file
	if named || from.Files == nil {
		return false
	}
	dir := c.Service.DataDir
	// The file in it cannot say where the folder is.
	if f := from.Flags.Lookup("data-dir"); f == nil || !f.Changed {
		if value, set := from.Env(EnvName("data-dir")); set {
			dir = value
		}
	}
	for i, path := range append([]string{filepath.Join(dir, FileName)}, from.Files...) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			c.File = path
			return i == 0
		}
	}
	return false
}
