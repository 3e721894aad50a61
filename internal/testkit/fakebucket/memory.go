package fakebucket

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/internal/archive"
	"sluice/internal/domain"
)

// Memory keeps an archive's files in memory, for tests that are not about where
// they lie.
type Memory struct {
	mu    sync.Mutex
	files map[string]file
}

type file struct {
	data    []byte
	written time.Time
}

// NewMemory returns an empty one.
func NewMemory() *Memory { return &Memory{files: map[string]file{}} }

// Write implements archive.Files.
func (m *Memory) Write(ctx context.Context, key string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() == nil {
		m.files[key] = file{slices.Clone(data), time.Now()}
	}
	return ctx.Err()
}

// Read implements archive.Files.
func (m *Memory) Read(ctx context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[key]
	if !ok {
		return nil, domain.Errorf(domain.CodeNotFound, "read %s in the archive: there is none", key)
	}
	return slices.Clone(f.data), ctx.Err()
}

// ReadTail implements archive.Files.
func (m *Memory) ReadTail(ctx context.Context, key string, size, n int64) ([]byte, error) {
	data, err := m.Read(ctx, key)
	return data[min(int64(len(data)), max(0, size-n)):], err
}

// Remove implements archive.Files.
func (m *Memory) Remove(ctx context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, key)
	return ctx.Err()
}

// List implements archive.Files.
func (m *Memory) List(ctx context.Context, prefix string) iter.Seq2[archive.Object, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	files := maps.Clone(m.files)
	return func(yield func(archive.Object, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(files)) {
			if strings.HasPrefix(key, prefix) && !yield(archive.Object{Key: key, Size: int64(len(files[key].data)), Written: files[key].written}, ctx.Err()) {
				return
			}
		}
	}
}
