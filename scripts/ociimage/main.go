// Command ociimage puts a static program into an image, without a container engine:
// an OCI layout in a tar file, which podman and skopeo load, with the list beside it
// that every docker wants. It is the image of deploy/Dockerfile: the program, the
// certificates that it trusts, and a folder for data that belongs to a user who may
// do nothing else.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

const (
	user         = 65532
	certificates = "/etc/ssl/certs/ca-certificates.crt"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "", "the program")
	flag.StringVar(&o.arch, "arch", "amd64", "what it is built for")
	flag.StringVar(&o.version, "version", "latest", "the image's tag")
	flag.StringVar(&o.commit, "commit", "", "what it is built from")
	flag.StringVar(&o.created, "created", "", "when that was committed (RFC 3339)")
	flag.StringVar(&o.out, "out", "", "where to write")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "ociimage:", err)
		os.Exit(1)
	}
}

type options struct{ binary, arch, version, commit, created, out string }

// descriptor points to a blob.
type descriptor struct {
	Type        string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// layout is what is written: blobs by their digest, and what points to them.
type layout struct {
	index, legacy []byte
	blobs         map[string][]byte
}

func (l *layout) put(kind string, data []byte) descriptor {
	d := descriptor{Type: kind, Digest: digest(data), Size: len(data)}
	l.blobs[d.Digest] = data
	return d
}

func run(o options) error {
	plain, err := layer(o.binary)
	if err != nil {
		return err
	}
	packed, err := compressed(plain)
	if err != nil {
		return err
	}
	config, err := json.Marshal(configuration(o, digest(plain)))
	if err != nil {
		return err
	}
	l := layout{blobs: map[string][]byte{}}
	about, content := l.put(configType, config), l.put(layerType, packed)
	manifest, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": manifestType, "config": about, "layers": []descriptor{content}})
	if err != nil {
		return err
	}
	top := l.put(manifestType, manifest)
	top.Annotations = map[string]string{"org.opencontainers.image.ref.name": o.version, "io.containerd.image.name": "docker.io/library/sluice:" + o.version}
	if l.index, err = json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []descriptor{top}}); err != nil {
		return err
	}
	// Docker without the store of containerd reads this list alone.
	l.legacy, err = json.Marshal([]map[string]any{{"Config": path(about.Digest), "RepoTags": []string{"sluice:" + o.version}, "Layers": []string{path(content.Digest)}}})
	if err != nil {
		return err
	}
	return write(o.out, l)
}

func compressed(plain []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	err = w.Close()
	return packed.Bytes(), err
}

// configuration says how the image is run, and what it is.
func configuration(o options, layer string) map[string]any {
	config := map[string]any{
		"architecture": o.arch, "os": "linux",
		"config": map[string]any{
			"User": fmt.Sprint(user, ":", user), "Entrypoint": []string{"/sluice"}, "Cmd": []string{"up"}, "Env": []string{"SLUICE_DATA_DIR=/data"},
			"Volumes": map[string]any{"/data": struct{}{}}, "ExposedPorts": map[string]any{"8090/tcp": struct{}{}}, "StopSignal": "SIGTERM",
			"Labels": map[string]string{
				"org.opencontainers.image.title": "sluice", "org.opencontainers.image.version": o.version,
				"org.opencontainers.image.revision": o.commit, "org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{layer}},
	}
	if o.created != "" {
		config["created"] = o.created
	}
	return config
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// layer is the file system of the image.
func layer(binary string) ([]byte, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	trusted, err := os.ReadFile(certificates)
	if err != nil {
		return nil, fmt.Errorf("the certificates that an image trusts (install ca-certificates): %w", err)
	}
	var out bytes.Buffer
	files := tar.NewWriter(&out)
	for _, f := range []struct {
		name string
		mode int64
		id   int
		data []byte
	}{
		{"etc/", 0o755, 0, nil}, {"etc/ssl/", 0o755, 0, nil}, {"etc/ssl/certs/", 0o755, 0, nil}, {certificates[1:], 0o644, 0, trusted},
		{"sluice", 0o755, 0, program}, {"data/", 0o700, user, nil}, {"tmp/", 0o1777, 0, nil},
	} {
		if err := add(files, f.name, f.mode, f.id, f.data); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), files.Close()
}

func add(files *tar.Writer, name string, mode int64, id int, data []byte) error {
	h := &tar.Header{Name: name, Mode: mode, Uid: id, Gid: id, Size: int64(len(data)), ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg}
	if name[len(name)-1] == '/' {
		h.Typeflag = tar.TypeDir
	}
	if err := files.WriteHeader(h); err != nil {
		return err
	}
	_, err := files.Write(data)
	return err
}

// path is where a blob lies.
func path(digest string) string { return "blobs/sha256/" + digest[len("sha256:"):] }

func write(to string, l layout) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	files := tar.NewWriter(f)
	err = add(files, "oci-layout", 0o644, 0, []byte(`{"imageLayoutVersion":"1.0.0"}`))
	if err == nil {
		err = add(files, "index.json", 0o644, 0, l.index)
	}
	if err == nil {
		err = add(files, "manifest.json", 0o644, 0, l.legacy)
	}
	for _, name := range slices.Sorted(maps.Keys(l.blobs)) {
		if err == nil {
			err = add(files, path(name), 0o644, 0, l.blobs[name])
		}
	}
	if err == nil {
		err = files.Close()
	}
	if failed := f.Close(); err == nil {
		err = failed
	}
	return err
}
