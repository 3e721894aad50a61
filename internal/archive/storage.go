package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
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
	// folder says that it is one of this machine.
	folder bool
}

// contentType is registered for Parquet.
const contentType = "application/vnd.apache.parquet"

func (s *bucketStorage) write(ctx context.Context, key string, data []byte) error {
	if s.folder {
		return failed("write", key, s.writeFolder(ctx, key, data))
	}
	return failed("write", key, s.bucket.Upload(ctx, key, bytes.NewReader(data), &blob.WriterOptions{ContentType: contentType}))
}

// writeFolder also sees to it that what is written is on the disk: a machine
// keeps it in memory unless told otherwise.
func (s *bucketStorage) writeFolder(ctx context.Context, key string, data []byte) error {
	// A writer whose context ended before Close leaves nothing.
	writing, abandon := context.WithCancel(ctx)
	defer abandon()
	var file *os.File
	w, err := s.bucket.NewWriter(writing, key, &blob.WriterOptions{ContentType: contentType, BeforeWrite: func(as func(any) bool) error {
		if !as(&file) {
			return domain.Errorf(domain.CodeInternal, "the folder's writer has no file")
		}
		return nil
	}})
	if err != nil {
		return err
	}
	if _, err = w.Write(data); err == nil {
		err = file.Sync()
	}
	if err != nil {
		abandon()
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return syncFolders(filepath.Dir(file.Name()), strings.Count(key, "/")+1)
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
	err = withoutQueries{err}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s %s in the archive: %w", action, key, err)
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		return domain.Errorf(domain.CodeNotFound, "%s %s in the archive: %w", action, key, err)
	case gcerrors.PermissionDenied:
		// It is not the caller who may not, but the service.
		return domain.Errorf(domain.CodeUnavailable, "%s %s in the archive: the service's credentials do not allow it: %w", action, key, err)
	}
	return domain.Errorf(domain.CodeUnavailable, "%s %s in the archive: %w", action, key, err)
}

// withoutQueries is an error whose text leaves out the queries of addresses:
// those of Azure may hold a token.
type withoutQueries struct{ error }

var queries = regexp.MustCompile(`\?[^\s"]+`)

// Error implements error.
func (e withoutQueries) Error() string { return queries.ReplaceAllString(e.error.Error(), "?…") }

// Unwrap returns the cause.
func (e withoutQueries) Unwrap() error { return e.error }
