package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"sluice/internal/domain"
)

// storage is what the archive needs of a bucket.
type storage interface {
	// write makes a file, whole or not at all, that outlives a loss of power.
	write(ctx context.Context, key string, data []byte) error
	read(ctx context.Context, key string) ([]byte, error)
	// readTail reads up to n bytes from the end.
	readTail(ctx context.Context, key string, size, n int64) ([]byte, error)
	// copy is as write, of what another file holds.
	copy(ctx context.Context, to, from string) error
	// remove takes a file away; one that is not there is no error.
	remove(ctx context.Context, key string) error
	// list goes through what begins with a prefix, in the order of the keys.
	list(ctx context.Context, prefix string) iter.Seq2[object, error]
}

// object is what a listing tells of a file.
type object struct {
	key     string
	size    int64
	written time.Time
}

// bucketStorage implements storage.
type bucketStorage struct {
	bucket *blob.Bucket
	// folder says that it is one of this machine, which keeps written files in
	// memory unless told otherwise.
	folder bool
}

// contentType is registered for Parquet.
const contentType = "application/vnd.apache.parquet"

func (s *bucketStorage) write(ctx context.Context, key string, data []byte) error {
	// A writer whose context ended before Close leaves nothing.
	writing, abandon := context.WithCancel(ctx)
	defer abandon()
	var file *os.File
	w, err := s.bucket.NewWriter(writing, key, &blob.WriterOptions{ContentType: contentType, BeforeWrite: func(as func(any) bool) error {
		as(&file)
		return nil
	}})
	if err != nil {
		return failed("write", key, err)
	}
	_, err = w.Write(data)
	if err == nil && file != nil {
		err = file.Sync()
	}
	if err != nil {
		abandon()
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return failed("write", key, err)
	}
	if file == nil {
		return nil
	}
	return failed("write", key, syncFolders(filepath.Dir(file.Name()), strings.Count(key, "/")+1))
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

func (s *bucketStorage) read(ctx context.Context, key string) ([]byte, error) {
	data, err := s.bucket.ReadAll(ctx, key)
	return data, failed("read", key, err)
}

func (s *bucketStorage) readTail(ctx context.Context, key string, size, n int64) ([]byte, error) {
	r, err := s.bucket.NewRangeReader(ctx, key, max(0, size-n), -1, nil)
	if err != nil {
		return nil, failed("read", key, err)
	}
	data, err := io.ReadAll(r)
	return data, failed("read", key, errors.Join(err, r.Close()))
}

func (s *bucketStorage) copy(ctx context.Context, to, from string) error {
	if !s.folder {
		return failed("copy", from, s.bucket.Copy(ctx, to, from, nil))
	}
	data, err := s.read(ctx, from)
	if err != nil {
		return err
	}
	return s.write(ctx, to, data)
}

func (s *bucketStorage) remove(ctx context.Context, key string) error {
	err := s.bucket.Delete(ctx, key)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil
	}
	return failed("remove", key, err)
}

func (s *bucketStorage) list(ctx context.Context, prefix string) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		for listing := s.bucket.List(&blob.ListOptions{Prefix: prefix}); ; {
			o, err := listing.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(object{}, failed("list", prefix, err))
				return
			}
			if !yield(object{o.Key, o.Size, o.ModTime}, nil) {
				return
			}
		}
	}
}

// failed says in the program's codes what a bucket could not do.
func failed(action, key string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s %s in the archive: %w", action, key, err)
	}
	code := domain.CodeUnavailable
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		code = domain.CodeNotFound
	case gcerrors.PermissionDenied:
		code = domain.CodeUnauthorized
	}
	return domain.Errorf(code, "%s %s in the archive: %w", action, key, err)
}
