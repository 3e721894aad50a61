// Package shipped has the sources that come with the program: files as anybody could
// write them.
package shipped

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Names lists them.
func Names() []string {
	all, _ := fs.Glob(files, "*.yaml")
	for i := range all {
		all[i] = strings.TrimSuffix(all[i], ".yaml")
	}
	return all
}

// File returns the text of one; ok is false if there is none of that name.
func File(name string) (text []byte, ok bool) {
	text, err := files.ReadFile(name + ".yaml")
	return text, err == nil
}
