package api_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// outcome is what a program tells that used a generated client.
type outcome struct {
	Before, After, Documents, Resumed int
	First, Status, Missing, Page      string
}

// used checks what a program made of the service: it has begun a collection,
// followed it to its end, and come back to a stream that was over.
func used(t *testing.T, text string) {
	t.Helper()
	var got outcome
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if got.After <= got.Before || got.Documents == 0 {
		t.Errorf("nothing was collected: %+v", got)
	}
	got.Before, got.After, got.Documents = 0, 0, 0
	want := outcome{First: "snapshot", Status: "COMPLETED", Resumed: 204, Missing: "not_found", Page: "/docs/problems#not_found"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// workshop is a folder with copies of files, for what is made of them.
func workshop(t *testing.T, from ...string) program {
	t.Helper()
	p := program{dir: t.TempDir()}
	for _, name := range from {
		text, err := os.ReadFile(testdata(t, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(p.dir, filepath.Base(name)), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// TestGeneratedClients makes clients of the description, as users do, and uses
// them.
func TestGeneratedClients(t *testing.T) {
	t.Parallel()
	s, u := start(t)
	path := document(t, s)
	logins := u.Logins()
	t.Run("TypeScript", func(t *testing.T) {
		w := workshop(t, "client.ts", "tsconfig.json", "package.json")
		if err := os.Symlink(tool(t, "node_modules"), filepath.Join(w.dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		w.run(t, tool(t, "node_modules/.bin/openapi-typescript"), path, "-o", "schema.d.ts")
		w.run(t, tool(t, "node_modules/.bin/tsc"), "-p", ".")
		used(t, w.run(t, "node", "built/client.js", s.URL, s.Token, logins[0], u.Token(logins[0])))
	})
	t.Run("Go", func(t *testing.T) {
		w := workshop(t, "goclient/main.go", "goclient/generate.yaml", "goclient/go.mod", "goclient/go.sum")
		w.run(t, tool(t, "bin/oapi-codegen"), "-config", "generate.yaml", path)
		w.env = []string{"GOFLAGS=-mod=mod -trimpath", "GOWORK=off", "CGO_ENABLED=0"}
		w.run(t, "go", "build", "-o", "use", ".")
		used(t, w.run(t, filepath.Join(w.dir, "use"), s.URL, s.Token, logins[1], u.Token(logins[1])))
	})
}
