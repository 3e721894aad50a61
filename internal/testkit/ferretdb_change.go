package testkit

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	ferretModule = "github.com/FerretDB/FerretDB"
	// ferretPackage is a package of it that others may import.
	ferretPackage = ferretModule + "/ferretdb"
	// ferretStore is where FerretDB keeps what stores documents in SQLite.
	ferretStore = "internal/backends/sqlite"
	// narrowFile is added to it.
	narrowFile = "sqlite/narrow.go"
)

// ferretChange is something that FerretDB does otherwise in tests; the file is one
// of its module.
type ferretChange struct{ file, from, to string }

var ferretChanges = []ferretChange{
	// Documents that cannot be meant are not read: most of the time of tests would
	// go by with them.
	{
		ferretStore + "/collection.go",
		"\tif params.Filter.Len() == 1 {",
		"\twhereClause, args = narrow(params.Filter)\n\tif whereClause == \"\" && params.Filter.Len() == 1 {",
	},
	// Fields of fields tell what can be meant, too.
	{"internal/handler/msg_find.go", "if !h.EnableNestedPushdown && params.Filter != nil {", "if h.DisablePushdown && params.Filter != nil {"},
	// The index of ids is one of the expression that ids are asked for by: SQLite would
	// read all documents for each of them.
	{
		ferretStore + "/metadata/registry.go",
		"\t\t\tcolumns[i] = fmt.Sprintf(\"%s->%s\", DefaultColumn, strings.Join(fields, \"->\"))\n",
		"\t\t\tcolumns[i] = fmt.Sprintf(\"%s->%s\", DefaultColumn, strings.Join(fields, \"->\"))\n" +
			"\t\t\tif key.Field == \"_id\" {\n\t\t\t\tcolumns[i] = IDColumn\n\t\t\t}\n",
	},
	// Nothing is ever found by other indexes: those that promise nothing stay empty.
	{
		ferretStore + "/metadata/registry.go",
		"\t\tq += \"INDEX %q ON %q (%s)\"\n",
		"\t\tq += \"INDEX %q ON %q (%s)\"\n\t\tif !index.Unique {\n\t\t\tq += \" WHERE FALSE\"\n\t\t}\n",
	},
	// Each update of a call keeps a connection until the call has ended: a hundred of
	// them would wait for ever for one more, and everybody else for them.
	{ferretStore + "/metadata/pool/opendb.go", "db.SetMaxOpenConns(100)", "db.SetMaxOpenConns(0)"},
}

// changeFerretDB copies FerretDB and changes it, and returns the path of a go.mod
// that leads to the copy (go help build, -modfile).
func changeFerretDB(source string) (modfile string, remove func(), err error) {
	where, err := goIn(source, "list", "-f", "{{.Dir}}", ferretPackage)
	if err != nil {
		return "", nil, err
	}
	folder, err := os.MkdirTemp("", "ferretdb-")
	if err != nil {
		return "", nil, fmt.Errorf("make a folder: %w", err)
	}
	remove = func() { _ = os.RemoveAll(folder) }
	if err := writeFerretDB(folder, filepath.Dir(where), source); err != nil {
		remove()
		return "", nil, fmt.Errorf("change FerretDB: %w", err)
	}
	return filepath.Join(folder, "go.mod"), remove, nil
}

// writeFerretDB writes a changed copy of a module, and go.mod and go.sum that are
// those of the program beside it.
func writeFerretDB(folder, module, source string) error {
	changed := filepath.Join(folder, "changed")
	if err := copyWritable(changed, module); err != nil {
		return err
	}
	if err := appendFile(filepath.Join(changed, filepath.FromSlash(ferretStore), "narrow.go"), filepath.Join(source, filepath.FromSlash(narrowFile)), ""); err != nil {
		return err
	}
	for _, change := range ferretChanges {
		name := filepath.Join(changed, filepath.FromSlash(change.file))
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		now := strings.Replace(string(text), change.from, change.to, 1)
		if now == string(text) {
			return fmt.Errorf("%s has no %q: change it in another way (ferretChanges)", change.file, change.from)
		}
		if err := os.WriteFile(name, []byte(now), 0o600); err != nil {
			return err
		}
	}
	if err := appendFile(filepath.Join(folder, "go.sum"), filepath.Join(source, "go.sum"), ""); err != nil {
		return err
	}
	return appendFile(filepath.Join(folder, "go.mod"), filepath.Join(source, "go.mod"), "\nreplace "+ferretModule+" => "+changed+"\n")
}

// appendFile copies a file and appends something.
func appendFile(to, from, more string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(text, more...), 0o600)
}

// copyWritable copies the Go files of a module and what they embed; files of the
// cache are read-only, so that os.CopyFS would make folders that nothing can be
// added to.
func copyWritable(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name == "website" || name == "integration" {
				return fs.SkipDir // neither is part of the program
			}
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		return appendFile(filepath.Join(to, name), path, "")
	})
}
