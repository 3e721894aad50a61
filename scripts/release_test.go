package scripts_test

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// release is what of .goreleaser.yaml leads to something of the repository.
type release struct {
	Before struct{ Hooks []string }
	Builds []struct {
		Main                string
		Tags, Ldflags       []string
		Goos, Goarch, Flags []string
		Hooks               struct{ Post []struct{ Cmd string } }
	}
	Archives []struct{ Files []struct{ Src string } }
	Nfpms    []struct {
		Contents []struct{ Src, Dst, Type string }
		Scripts  map[string]string
	}
	Sboms []struct{ Args []string }
}

func readRelease(t *testing.T) (r release, text string) {
	t.Helper()
	content, err := os.ReadFile("../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Builds) != 1 || len(r.Archives) != 1 || len(r.Nfpms) != 1 || len(r.Sboms) != 1 {
		t.Fatalf("it has %d builds, %d archives, %d packages, %d lists of modules", len(r.Builds), len(r.Archives), len(r.Nfpms), len(r.Sboms))
	}
	return r, string(content)
}

// made is what scripts/release-pages makes.
var made = []string{"sluice.yaml", "man/*.gz", "completions/*", "completions/sluice.bash", "completions/sluice.zsh", "completions/sluice.fish"}

// TestReleaseNamesWhatIsThere: a release fails only after minutes of building, and
// nobody makes one at each change.
func TestReleaseNamesWhatIsThere(t *testing.T) {
	r, text := readRelease(t)
	var named []string
	for _, f := range r.Archives[0].Files {
		named = append(named, f.Src)
	}
	for _, f := range r.Nfpms[0].Contents {
		if f.Type != "dir" {
			named = append(named, f.Src)
		}
		if !filepath.IsAbs(f.Dst) {
			t.Errorf("%s goes to %q", f.Src, f.Dst)
		}
	}
	for event, script := range r.Nfpms[0].Scripts {
		named = append(named, script)
		if out, err := exec.CommandContext(t.Context(), "sh", "-n", "../"+script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", event, err, out)
		}
	}
	named = append(named, r.Builds[0].Main)
	named = append(named, regexp.MustCompile(`\./scripts/[a-z-]+`).FindAllString(text, -1)...)
	if len(named) < 20 {
		t.Errorf("only %d files were found", len(named))
	}
	for _, name := range named {
		if page, isMade := strings.CutPrefix(name, "build/release/"); isMade {
			if !slices.Contains(made, page) {
				t.Errorf("scripts/release-pages does not make %s", page)
			}
			continue
		}
		if _, err := os.Stat(filepath.Join("..", name)); err != nil {
			t.Error(err)
		}
	}
}

// TestReleaseIsTheProgram: it is built as `make build` does, stripped, and told its
// version, commit and date, by variables that are there.
func TestReleaseIsTheProgram(t *testing.T) {
	r, _ := readRelease(t)
	build := r.Builds[0]
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	dockerfile, err := os.ReadFile("../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	same := strings.Join(build.Flags, " ") + " -tags " + strings.Join(build.Tags, ",")
	for file, text := range map[string][]byte{"Makefile": makefile, "Dockerfile": dockerfile} {
		if !strings.Contains(string(text), "go build "+same) && !strings.Contains(string(text), "$(GO) build "+same) {
			t.Errorf("%s does not build with %s", file, same)
		}
	}
	flags := strings.Join(build.Ldflags, " ")
	there := declared(t, "../cmd/sluice/version.go")
	stamped := regexp.MustCompile(`-X main\.(\w+)=`)
	var variables []string
	for _, match := range stamped.FindAllStringSubmatch(flags, -1) {
		variables = append(variables, match[1])
	}
	if !strings.HasPrefix(flags, "-s -w ") || !slices.Equal(variables, []string{"releaseVersion", "releaseCommit", "releaseDate"}) {
		t.Errorf("it is linked with %s", flags)
	}
	for _, match := range stamped.FindAllStringSubmatch(string(dockerfile), -1) {
		variables = append(variables, match[1])
	}
	for _, name := range variables {
		if !there[name] {
			t.Errorf("there is no variable %s", name)
		}
	}
}

// declared are the variables of a file.
func declared(t *testing.T, file string) map[string]bool {
	t.Helper()
	source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, d := range source.Decls {
		group, _ := d.(*ast.GenDecl)
		if group == nil || group.Tok != token.VAR {
			continue
		}
		for _, spec := range group.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				names[name.Name] = true
			}
		}
	}
	return names
}

// TestReleaseCheck gives scripts/release-check a release that is not one.
func TestReleaseCheck(t *testing.T) {
	r, _ := readRelease(t)
	var names []string
	for _, system := range r.Builds[0].Goos {
		for _, arch := range r.Builds[0].Goarch {
			kinds := []string{"tar.gz", "cdx.json"}
			if system == "linux" {
				kinds = append(kinds, "deb", "rpm", "oci.tar")
			}
			for _, kind := range kinds {
				names = append(names, fmt.Sprintf("sluice_1.2.3_%s_%s.%s", system, arch, kind))
			}
		}
	}
	for name, test := range map[string]struct {
		lacks, changed, says string
	}{
		"nothing inside":      {"", "", "sluice_1.2.3_darwin_amd64.tar.gz is no archive"},
		"a package is absent": {"sluice_1.2.3_linux_arm64.rpm", "", "there is no sluice_1.2.3_linux_arm64.rpm"},
		"a file was changed":  {"", "sluice_1.2.3_linux_amd64.oci.tar", "a checksum is wrong"},
		"one is not listed":   {"", "SHA256SUMS", "SHA256SUMS does not list sluice_1.2.3_linux_amd64.tar.gz"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dist, sums := t.TempDir(), ""
			write := func(file, text string) {
				if err := os.WriteFile(filepath.Join(dist, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, file := range names {
				if file != test.lacks {
					write(file, file)
				}
				sums += fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(file)), file)
			}
			write("SHA256SUMS", sums)
			if test.changed != "" {
				write(test.changed, "other")
			}
			out, err := exec.CommandContext(t.Context(), "./release-check", dist).CombinedOutput()
			if err == nil || !strings.Contains(string(out), test.says) {
				t.Errorf("%v, %s", err, out)
			}
		})
	}
}
