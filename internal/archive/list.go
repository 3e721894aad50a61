package archive

import (
	"context"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// Query selects values. Zero fields do not restrict.
type Query struct {
	Source string
	// Key needs a Source.
	Key string
	// Since and Until bound the instant at which a value was stored: Since
	// inclusive, Until exclusive.
	Since, Until time.Time
}

// Day returns the bounds of a day such as 2026-10-16.
func Day(text string) (since, until time.Time, err error) {
	since, err = time.Parse(time.DateOnly, text)
	if err != nil {
		return since, until, domain.Errorf(domain.CodeInvalid, "%q is not a day; write one such as 2026-10-16", text)
	}
	return since, since.Add(day), nil
}

// Check refuses what selects nothing.
func (q Query) Check() error {
	if q.Key != "" && q.Source == "" {
		return domain.Errorf(domain.CodeInvalid, "the key %q needs the name of its source", q.Key)
	}
	if !q.Since.IsZero() && !q.Until.IsZero() && !q.Until.After(q.Since) {
		return domain.Errorf(domain.CodeInvalid, "nothing lies between since %s and until %s: until must be later",
			q.Since.Format(time.RFC3339), q.Until.Format(time.RFC3339))
	}
	return nil
}

// under is what the names of all files that may hold such values begin with.
func (q Query) under() string {
	if q.Source == "" {
		return ""
	}
	under := sourceFolder(q.Source) + "/"
	if !q.Since.IsZero() && !q.Until.IsZero() {
		first, last := q.Since.UTC().Format(time.DateOnly), q.Until.UTC().Add(-time.Microsecond).Format(time.DateOnly)
		if first == last {
			return partition(q.Source, first) + "/"
		}
	}
	return under
}

func (q Query) wantsFile(f File) bool {
	return (q.Since.IsZero() || !f.Last.Before(q.Since)) && (q.Until.IsZero() || f.First.Before(q.Until))
}

func (q Query) wants(v *refresh.Value) bool {
	return (q.Source == "" || v.Source == q.Source) && (q.Key == "" || v.Key == q.Key) &&
		(q.Since.IsZero() || !v.StoredAt.Before(q.Since)) && (q.Until.IsZero() || v.StoredAt.Before(q.Until))
}

// List lists the files that may hold such values, by source and time. It opens
// none of them.
func (a *Archiver) List(ctx context.Context, q Query) ([]File, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	var files []File
	err := a.scan(ctx, q.under(), func(f File) error {
		if q.wantsFile(f) {
			files = append(files, f)
		}
		return nil
	})
	return files, err
}

// scan visits the files whose names begin in a certain way, by name. One whose
// move to cold/ was interrupted is there twice; only the earlier one is visited.
// Buckets escape names, each in its own way, and list in the order of that: the
// files are sorted here.
func (a *Archiver) scan(ctx context.Context, under string, visit func(File) error) error {
	var files []File
	// What moves meanwhile must not be missed, so it is looked for where it was
	// before where it goes.
	for _, prefix := range []string{historyPrefix, coldPrefix} {
		for f, err := range a.listed(ctx, prefix+under) {
			if err != nil {
				return err
			}
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(x, y File) int { return strings.Compare(x.name, y.name) })
	for i, f := range files {
		if i > 0 && files[i-1].name == f.name {
			continue
		}
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// listed goes through the archive's files under a prefix.
func (a *Archiver) listed(ctx context.Context, prefix string) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		for o, err := range a.files.List(ctx, prefix) {
			if err != nil {
				yield(File{}, err)
				return
			}
			f, ok := parseKey(o.Key)
			f.Bytes = o.Size
			if ok && !yield(f, nil) {
				return
			}
		}
	}
}

// read goes through the rows of a file. It returns how many there are, and an
// error of code corrupt if they are not those that the file's name tells of.
func (a *Archiver) read(ctx context.Context, f File, visit func(*row) error) (int64, error) {
	data, err := a.load(ctx, f)
	if err != nil {
		return 0, err
	}
	return readRows(f, data, visit)
}

// load reads a file, which may have moved to cold/ since it was listed.
func (a *Archiver) load(ctx context.Context, f File) ([]byte, error) {
	data, err := a.files.Read(ctx, f.Key)
	if domain.CodeOf(err) != domain.CodeNotFound || f.Cold {
		return data, err
	}
	if moved, errMoved := a.files.Read(ctx, coldPrefix+f.name); errMoved == nil {
		return moved, nil
	}
	return nil, err
}

func readRows(f File, data []byte, visit func(*row) error) (int64, error) {
	if dataSum(data) != f.dataSum {
		return 0, domain.Errorf(domain.CodeCorrupt, "%s is damaged: its bytes do not match the checksum in its name", f.Key)
	}
	var c contents
	err := decode(data, func(r *row) error {
		if err := c.add(r); err != nil {
			return err
		}
		return visit(r)
	})
	if err != nil {
		return 0, domain.Errorf(domain.CodeOf(err), "%s: %w", f.Key, err)
	}
	if told := (contents{path.Dir(f.name), f.First.UnixMicro(), f.Last.UnixMicro(), f.Rows}); c != told {
		return 0, domain.Errorf(domain.CodeCorrupt, "%s does not hold what its name says: %d values of %s", f.Key, c.rows, c.at)
	}
	return c.rows, nil
}

func noVisit(*row) error { return nil }

// Checked is what Verify found.
type Checked struct {
	Files int64 `json:"files"`
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
	// Damaged are the files that do not hold what they should, or could not be
	// read.
	Damaged []Damage `json:"damaged"`
}

// Damage is what is wrong with a file.
type Damage struct {
	File
	Error string `json:"error"`
}

// Verify reads all files that may hold such values and checks every row.
func (a *Archiver) Verify(ctx context.Context, q Query) (Checked, error) {
	var c Checked
	if err := q.Check(); err != nil {
		return c, err
	}
	err := a.scan(ctx, q.under(), func(f File) error {
		if !q.wantsFile(f) {
			return nil
		}
		c.Files++
		c.Bytes += f.Bytes
		rows, err := a.read(ctx, f, noVisit)
		c.Rows += rows
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.Damaged = append(c.Damaged, Damage{f, err.Error()})
		}
		return nil
	})
	return c, err
}
