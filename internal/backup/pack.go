package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"

	"sluice/internal/domain"
)

const (
	manifestEntry = "manifest.json"
	sumEntry      = "manifest.sha256"
	// mostManifest bounds what is read before anything is known to be true.
	mostManifest = 1 << 20
)

// pack writes a backup of the parts that lie in a folder.
func pack(ctx context.Context, w io.Writer, m Manifest, dir string) error {
	compressed, err := zstd.NewWriter(w, zstd.WithEncoderCRC(true))
	if err != nil {
		return err
	}
	files := tar.NewWriter(compressed)
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	err = errors.Join(addBytes(files, manifestEntry, text, m.Made), addBytes(files, sumEntry, []byte(hex.EncodeToString(sum[:])), m.Made))
	for _, p := range m.Parts {
		if err == nil {
			err = addFile(ctx, files, filepath.Join(dir, p.Name), p, m.Made)
		}
	}
	return errors.Join(err, files.Close(), compressed.Close())
}

func header(name string, size int64, made time.Time) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: made}
}

func addBytes(files *tar.Writer, name string, data []byte, made time.Time) error {
	if err := files.WriteHeader(header(name, int64(len(data)), made)); err != nil {
		return err
	}
	_, err := files.Write(data)
	return err
}

func addFile(ctx context.Context, files *tar.Writer, path string, p Part, made time.Time) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := files.WriteHeader(header(p.Name, p.Size, made)); err != nil {
		return err
	}
	_, err = io.Copy(files, untilDone{ctx, f})
	return err
}

// untilDone reads until a context ends.
type untilDone struct {
	ctx context.Context //nolint:containedctx // it lives as long as one copy
	r   io.Reader
}

// Read implements io.Reader.
func (u untilDone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}

// unpack reads a backup into an empty folder, and returns its manifest once all of
// it is proved: everything is there that it names, nothing else, and unchanged.
func unpack(ctx context.Context, r io.Reader, dir string) (m Manifest, err error) {
	// No part may make the reader take much memory.
	compressed, err := zstd.NewReader(untilDone{ctx, r}, zstd.WithDecoderMaxMemory(64<<20), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return m, damaged(err)
	}
	defer compressed.Close()
	files := tar.NewReader(compressed)
	if m, err = readManifest(files); err != nil {
		return m, orCanceled(ctx, err)
	}
	for _, p := range m.Parts {
		if err := readPart(files, p, filepath.Join(dir, p.Name)); err != nil {
			return m, orCanceled(ctx, err)
		}
	}
	if _, err := files.Next(); !errors.Is(err, io.EOF) {
		return m, orCanceled(ctx, damaged(errors.New("it goes on after its last part")))
	}
	// The compressed stream ends with a checksum of everything.
	if _, err := io.Copy(io.Discard, compressed); err != nil {
		return m, orCanceled(ctx, damaged(err))
	}
	return m, nil
}

func readManifest(files *tar.Reader) (m Manifest, err error) {
	text, err := readEntry(files, manifestEntry)
	if err != nil {
		return m, err
	}
	sum, err := readEntry(files, sumEntry)
	if err != nil {
		return m, err
	}
	if is := sha256.Sum256(text); hex.EncodeToString(is[:]) != string(bytes.TrimSpace(sum)) {
		return m, damaged(errors.New("its manifest was changed"))
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, damaged(err)
	}
	if m.Format != Format {
		return m, domain.Errorf(domain.CodeConflict, "the backup has format %d, but this program reads %d: use the version of the program that made it (%s), or a newer one", m.Format, Format, m.Program)
	}
	for _, p := range m.Parts {
		if p.Name != databaseFile && p.Name != keyFile && p.Name != configFile {
			return m, damaged(errors.New("it names a part that no data folder has"))
		}
	}
	if !m.Has(databaseFile) {
		return m, damaged(errors.New("it has no database"))
	}
	return m, nil
}

func readEntry(files *tar.Reader, name string) ([]byte, error) {
	h, err := files.Next()
	if err != nil {
		return nil, damaged(err)
	}
	if h.Name != name || h.Size > mostManifest {
		return nil, damaged(errors.New("it does not begin with a manifest"))
	}
	text, err := io.ReadAll(files)
	if err != nil {
		return nil, damaged(err)
	}
	return text, nil
}

func readPart(files *tar.Reader, p Part, path string) error {
	h, err := files.Next()
	if err != nil {
		return damaged(err)
	}
	if h.Name != p.Name || h.Size != p.Size {
		return damaged(errors.New("a part is not what the manifest says"))
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return writeFailure{err}
	}
	return fill(f, files, p)
}

// fill writes a part into a file, and closes it.
func fill(f *os.File, from io.Reader, p Part) error {
	sum := sha256.New()
	_, err := io.Copy(io.MultiWriter(destination{f}, sum), from)
	if failed := (writeFailure{}); err != nil && !errors.As(err, &failed) {
		return errors.Join(damaged(err), f.Close())
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return writeFailure{err}
	}
	if hex.EncodeToString(sum.Sum(nil)) != p.SHA256 {
		return damaged(errors.New(p.Name + " was changed"))
	}
	return nil
}

func damaged(cause error) error {
	return domain.Errorf(domain.CodeCorrupt, "the backup is damaged or cut off; nothing was changed, take another one: %w", cause)
}

// orCanceled says that somebody stopped it, if that is why.
func orCanceled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// partOf is what a manifest says of a file.
func partOf(path string) (Part, error) {
	f, err := os.Open(path)
	if err != nil {
		return Part{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	return Part{Name: filepath.Base(path), Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}
