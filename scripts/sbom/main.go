// Command sbom writes what a Go program was built from as a CycloneDX document. It
// reads that from the program itself, so it tells what is inside and nothing else.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Hashes     []hash     `json:"hashes,omitempty"`
	URL        string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn,omitempty"`
}

type metadata struct {
	Created   string    `json:"timestamp,omitempty"`
	Component component `json:"component"`
}

type document struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type options struct{ binary, version, created, out string }

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "", "the program")
	flag.StringVar(&o.version, "version", "", "what the program is called in this release; what Go calls it unless given")
	flag.StringVar(&o.created, "created", "", "when its source was committed (RFC 3339)")
	flag.StringVar(&o.out, "out", "", "where to write")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	d, err := describe(o)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, append(text, '\n'), 0o644) //nolint:gosec // it is for everybody
}

func describe(o options) (document, error) {
	info, err := buildinfo.ReadFile(o.binary)
	if err != nil {
		return document{}, err
	}
	program, err := os.ReadFile(o.binary)
	if err != nil {
		return document{}, err
	}
	sum := sha256.Sum256(program)
	if o.version != "" {
		info.Main.Version = o.version
	}
	d := document{Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6", Serial: serial(sum), Version: 1}
	d.Metadata = metadata{Created: o.created, Component: of("application", &info.Main)}
	d.Metadata.Component.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" || s.Key == "-tags" {
			d.Metadata.Component.Properties = append(d.Metadata.Component.Properties, property{"go:build:" + strings.TrimPrefix(s.Key, "-"), s.Value})
		}
	}
	d.Components = append(d.Components, of("library", &debug.Module{Path: "std", Version: info.GoVersion}))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		d.Components = append(d.Components, of("library", m))
	}
	// A program knows what it was built from, not which of it needs which.
	all := dependency{Ref: d.Metadata.Component.Ref}
	for i := range d.Components {
		all.On = append(all.On, d.Components[i].Ref)
	}
	d.Dependencies = []dependency{all}
	return d, nil
}

// serial names the document of one program: it is a UUID (version 8, RFC 9562)
// made of the program's own digest.
func serial(sum [sha256.Size]byte) string {
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

func of(kind string, m *debug.Module) component {
	url := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	c := component{Type: kind, Ref: url, Name: m.Path, Version: m.Version, URL: url}
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}
