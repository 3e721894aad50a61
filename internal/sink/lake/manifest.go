package lake

import (
	"context"
	"encoding/json"
	"time"

	"sluice/internal/archive"
	"sluice/internal/domain"
)

// manifestKey is where the manifest lies.
const manifestKey = "_sluice.json"

// manifest is a catalogue that is one file among the others. Whoever reads a table by
// all files in its folder sees each row at least once at any time, and exactly once
// when no commit is under way: new files are there before old ones go.
type manifest struct {
	files archive.Files
	last  *contents
}

func (m *manifest) load(ctx context.Context) (*contents, error) {
	c := &contents{}
	data, err := m.files.Read(ctx, manifestKey)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound:
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(data, c); err != nil {
			return nil, domain.Errorf(domain.CodeCorrupt, "the lake's %s cannot be read; restore it, or begin the lake anew in another folder: %w", manifestKey, err)
		}
	}
	if c.Tables == nil {
		c.Tables = map[string]*holding{}
	}
	m.last = c
	return c, nil
}

func (m *manifest) commit(ctx context.Context, c *change) error {
	data, err := json.MarshalIndent(c.next, "", " ")
	if err != nil {
		return domain.Errorf(domain.CodeInternal, "write the lake's manifest: %w", err)
	}
	if err := m.files.Write(ctx, manifestKey, data); err != nil {
		return err
	}
	m.last = c.next
	return nil
}

// expire forgets at once: whoever reads all files in a folder sees rows twice as long
// as they are there.
func (m *manifest) expire(_ context.Context, c *change, _ time.Time) (keys []string, _ error) {
	for name, files := range c.dropped {
		for _, f := range files {
			keys = append(keys, name+"/"+f.Name)
		}
	}
	return keys, nil
}

func (m *manifest) named(context.Context) (map[string]bool, error) {
	named := map[string]bool{}
	for name, held := range m.last.Tables {
		for _, f := range held.Files {
			named[name+"/"+f.Name] = true
		}
	}
	return named, nil
}

func (m *manifest) close() error { return nil }
