package bucket

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"sluice/internal/archive"
	"sluice/internal/domain"
)

// folder keeps an archive in a folder of this machine; a key is a path in it.
type folder struct{ root string }

func openFolder(path string) (archive.Files, error) {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "open the folder of the archive: %w", err)
	}
	return folder{path}, nil
}

// path is where a file lies. A key never leads out of the folder.
func (f folder) path(key string) (string, error) {
	local := filepath.FromSlash(key)
	if !filepath.IsLocal(local) {
		return "", domain.Errorf(domain.CodeInvalid, "%q is no name of a file in the archive", key)
	}
	return filepath.Join(f.root, local), nil
}

// Write implements archive.Files. A name that changes within one folder does so
// at once; until then the file has another one, beside it.
func (f folder) Write(ctx context.Context, key string, data []byte) error {
	path, err := f.path(key)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o750)
	}
	if err != nil {
		return failed("write", key, domain.CodeUnavailable, err)
	}
	err = writeWhole(path, data)
	if err == nil {
		err = syncFolders(filepath.Dir(path), strings.Count(key, "/")+1)
	}
	return failed("write", key, domain.CodeUnavailable, err)
}

func writeWhole(path string, data []byte) (err error) {
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = part.Write(data)
	// A machine keeps what is written in memory unless told otherwise.
	err = errors.Join(err, part.Sync(), part.Close())
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(part.Name()))
	}
	return err
}

// syncFolders makes names last: those in a folder and in the ones above it.
func syncFolders(folder string, levels int) error {
	if runtime.GOOS == "windows" {
		return nil // Its file systems keep names by themselves.
	}
	for range levels {
		f, err := os.Open(folder)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
		folder = filepath.Dir(folder)
	}
	return nil
}

// Read implements archive.Files.
func (f folder) Read(ctx context.Context, key string) ([]byte, error) { return f.readFrom(ctx, key, 0) }

// ReadTail implements archive.Files.
func (f folder) ReadTail(ctx context.Context, key string, size, n int64) ([]byte, error) {
	return f.readFrom(ctx, key, max(0, size-n))
}

func (f folder) readFrom(ctx context.Context, key string, at int64) (data []byte, err error) {
	path, err := f.path(key)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		data, err = readFrom(path, at)
	}
	code := domain.CodeUnavailable
	if errors.Is(err, fs.ErrNotExist) {
		code = domain.CodeNotFound
	}
	return data, failed("read", key, code, err)
}

func readFrom(path string, at int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if _, err := file.Seek(at, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(file)
}

// Remove implements archive.Files.
func (f folder) Remove(ctx context.Context, key string) error {
	path, err := f.path(key)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return failed("remove", key, domain.CodeUnavailable, err)
}

// List implements archive.Files.
func (f folder) List(ctx context.Context, prefix string) iter.Seq2[archive.Object, error] {
	return func(yield func(archive.Object, error) bool) {
		objects, err := f.walk(ctx, prefix)
		if err != nil {
			yield(archive.Object{}, failed("list", prefix, domain.CodeUnavailable, err))
			return
		}
		for _, o := range objects {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// walk gathers the files whose keys begin with a prefix, in the order of keys,
// which is not that of folders.
func (f folder) walk(ctx context.Context, prefix string) (objects []archive.Object, err error) {
	// What is below the last whole folder of the prefix is all there can be.
	at := f.root
	if cut := strings.LastIndexByte(prefix, '/'); cut >= 0 {
		if at, err = f.path(prefix[:cut]); err != nil {
			return nil, err
		}
	}
	err = filepath.WalkDir(at, func(path string, entry fs.DirEntry, err error) error {
		// Files come and go while others list them.
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(f.root, path)
		if key := filepath.ToSlash(name); err == nil && strings.HasPrefix(key, prefix) {
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			objects = append(objects, archive.Object{Key: key, Size: info.Size(), Written: info.ModTime()})
		}
		return err
	})
	slices.SortFunc(objects, func(a, b archive.Object) int { return strings.Compare(a.Key, b.Key) })
	return objects, err
}
