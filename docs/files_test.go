package docs_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// names are what stands in backquotes, or is linked to.
var names = regexp.MustCompile("`([^`\n]+)`|\\]\\(([^)#\n]+)\\)")

// isFile tells names of files and folders from other words: they end in a dot
// and what a file is, or begin with a folder of the repository.
var isFile = regexp.MustCompile(`^[\w.*/-]+\.(go|md|sql|lua|yml|svg)$|^(internal|cmd|docs|scripts|deploy|bench|backend|source)/[\w.*/-]+$`)

// TestNamedFilesExist: a map that names what is not there misleads.
func TestNamedFilesExist(t *testing.T) {
	there := everything(t)
	for _, document := range []string{"architecture.md", "../CONTRIBUTING.md"} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, match := range names.FindAllStringSubmatch(string(text), -1) {
			name := strings.TrimSuffix(match[1]+match[2], "/")
			if !isFile.MatchString(name) || strings.Contains(name, "NAME") {
				continue
			}
			found++
			// It is enough to say where in its part of the house something is.
			exists := func(file string) bool {
				matches, err := path.Match(name, file)
				return err == nil && matches
			}
			if !slices.ContainsFunc(there, func(file string) bool {
				return exists(file) || exists(lastOf(file, strings.Count(name, "/")+1))
			}) {
				t.Errorf("%s names %s, and there is no such file", filepath.Base(document), name)
			}
		}
		if found < 10 {
			t.Errorf("only %d files were found in %s", found, document)
		}
	}
}

// lastOf returns the last n parts of a path.
func lastOf(file string, n int) string {
	parts := strings.Split(file, "/")
	return strings.Join(parts[max(0, len(parts)-n):], "/")
}

// everything lists the files and folders of the repository.
func everything(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(file), "../")
		if entry.IsDir() && (name == ".git" || name == ".tools" || name == ".testdata" || name == "bin") {
			return filepath.SkipDir
		}
		all = append(all, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
