package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// files are those of a tar, with their headers.
func files(t *testing.T, text []byte) (content map[string][]byte, headers map[string]*tar.Header) {
	t.Helper()
	content, headers = map[string][]byte{}, map[string]*tar.Header{}
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return content, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		if content[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		headers[h.Name] = h
	}
}

func decode[T any](t *testing.T, text []byte) (value T) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// TestImage follows an image from its index to the program, as an engine does.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	o := options{binary: filepath.Join(dir, "sluice"), arch: "arm64", version: "1.2.3", commit: "abc", created: "2026-01-02T03:04:05Z", out: filepath.Join(dir, "image.tar")}
	if err := os.WriteFile(o.binary, []byte("a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	var images [2][]byte
	for i := range images {
		if err := run(o); err != nil {
			t.Fatal(err)
		}
		var err error
		if images[i], err = os.ReadFile(o.out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(images[0], images[1]) {
		t.Error("the same program makes another image")
	}
	content, _ := files(t, images[0])
	if !bytes.Contains(content["oci-layout"], []byte("1.0.0")) {
		t.Errorf("the layout is %s", content["oci-layout"])
	}
	blob := func(d descriptor) []byte {
		t.Helper()
		text := content[path(d.Digest)]
		if digest(text) != d.Digest || len(text) != d.Size {
			t.Errorf("%+v leads to %d bytes of %s", d, len(text), digest(text))
		}
		return text
	}
	index := decode[struct{ Manifests []descriptor }](t, content["index.json"])
	if len(index.Manifests) != 1 || index.Manifests[0].Type != manifestType {
		t.Fatalf("the index is %s", content["index.json"])
	}
	manifest := decode[struct {
		Config descriptor
		Layers []descriptor
	}](t, blob(index.Manifests[0]))
	config := decode[struct {
		Architecture, OS, Created string
		Config                    struct {
			User            string
			Entrypoint, Cmd []string
			Labels          map[string]string
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}](t, blob(manifest.Config))
	if config.Architecture != "arm64" || config.OS != "linux" || config.Created != o.created || config.Config.User != "65532:65532" || config.Config.Labels["org.opencontainers.image.version"] != "1.2.3" {
		t.Errorf("the configuration is %+v", config)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(blob(manifest.Layers[0])))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := io.ReadAll(unpacked)
	if err != nil || digest(layer) != config.RootFS.DiffIDs[0] {
		t.Fatalf("the layer is %s, not %s: %v", digest(layer), config.RootFS.DiffIDs[0], err)
	}
	inside, headers := files(t, layer)
	if string(inside["sluice"]) != "a program" || headers["sluice"].Mode != 0o755 || headers["data/"].Uid != user || headers["data/"].Mode != 0o700 || len(inside[certificates[1:]]) == 0 {
		t.Errorf("inside are %v", headers)
	}
	legacy := decode[[]struct {
		Config           string
		RepoTags, Layers []string
	}](t, content["manifest.json"])
	if len(legacy) != 1 || legacy[0].Config != path(manifest.Config.Digest) || legacy[0].Layers[0] != path(manifest.Layers[0].Digest) || legacy[0].RepoTags[0] != "sluice:1.2.3" {
		t.Errorf("the list for docker is %s", content["manifest.json"])
	}
}
