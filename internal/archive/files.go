package archive

import (
	"context"
	"iter"
	"time"
)

// Files is where an archive lies: a folder or a bucket. What fails has a code of
// the program: not_found for a file that is not there, unavailable otherwise.
type Files interface {
	// Write makes a file, whole or not at all, that outlives a loss of power.
	Write(ctx context.Context, key string, data []byte) error
	Read(ctx context.Context, key string) ([]byte, error)
	// ReadTail reads up to n bytes from the end of a file of a size.
	ReadTail(ctx context.Context, key string, size, n int64) ([]byte, error)
	// Remove takes a file away; one that is not there is no error.
	Remove(ctx context.Context, key string) error
	// List goes through what begins with a prefix, in the order of the keys.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
}

// Object is what a listing tells of a file.
type Object struct {
	Key     string
	Size    int64
	Written time.Time
}

// ContentType is registered for Parquet.
const ContentType = "application/vnd.apache.parquet"
