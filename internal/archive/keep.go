package archive

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// archiving is one run of Archive.
type archiving struct {
	*Archiver
	// known are the files that were there when the run came to a partition.
	// Those that it writes itself do not matter: no value is listed twice.
	known map[string][]File
	done  Result
}

// keep sees to it that values are in files that were read back.
func (s *archiving) keep(ctx context.Context, values []refresh.Value) error {
	partitions := map[string][]row{}
	for i := range values {
		r := rowOf(&values[i])
		at := partition(r.Source, r.day())
		partitions[at] = append(partitions[at], r)
	}
	names := make([]string, 0, len(partitions))
	for at := range partitions {
		names = append(names, at)
	}
	slices.Sort(names)
	for _, at := range names {
		rows, err := s.unknown(ctx, at, partitions[at])
		if err != nil {
			return err
		}
		if err := s.write(ctx, rows); err != nil {
			return err
		}
	}
	return nil
}

// unknown returns the rows that no file of the partition holds. A file that
// holds others is read whole and has to be in order, for they will be forgotten.
func (s *archiving) unknown(ctx context.Context, at string, rows []row) ([]row, error) {
	files, listed := s.known[at]
	if !listed {
		err := s.scan(ctx, at+"/", func(f File) error {
			files = append(files, f)
			return nil
		})
		if err != nil {
			return nil, err
		}
		s.known[at] = files
	}
	sortByTime(rows)
	for _, f := range files {
		if !touches(f, rows) {
			continue
		}
		held := map[identity]bool{}
		if _, err := s.read(ctx, f, func(r *row) error {
			held[r.identity()] = true
			return nil
		}); err != nil {
			return nil, err
		}
		before := len(rows)
		rows = slices.DeleteFunc(rows, func(r row) bool { return held[r.identity()] })
		s.done.Known += int64(before - len(rows))
	}
	return rows, nil
}

func sortByTime(rows []row) {
	slices.SortFunc(rows, func(x, y row) int { return cmp.Compare(x.StoredAt, y.StoredAt) })
}

// touches tells whether one of the rows, which are sorted by time, may be in a
// file.
func touches(f File, rows []row) bool {
	first, last := f.First.UnixMicro(), f.Last.UnixMicro()
	i := sort.Search(len(rows), func(i int) bool { return rows[i].StoredAt >= first })
	return i < len(rows) && rows[i].StoredAt <= last
}

// write makes one file of rows and compares it, read back, with them.
func (s *archiving) write(ctx context.Context, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	slices.SortFunc(rows, compareRows)
	data, err := encode(rows)
	if err != nil {
		return err
	}
	name, err := nameOf(rows, data)
	if err != nil {
		return err
	}
	key := historyPrefix + name
	if err := s.files.Write(ctx, key, data); err != nil {
		return err
	}
	if err := s.compare(ctx, key, rows); err != nil {
		if domain.CodeOf(err) == domain.CodeCorrupt {
			// All of it is in the store, so that it can be written anew.
			err = errors.Join(err, s.files.Remove(ctx, key))
		}
		return err
	}
	s.done.Files++
	s.done.Bytes += int64(len(data))
	return nil
}

// compare reads a file back, every row of it.
func (s *archiving) compare(ctx context.Context, key string, rows []row) error {
	f, ok := parseKey(key)
	if !ok {
		return domain.Errorf(domain.CodeInternal, "%s is not the name of a file", key)
	}
	i := 0
	read, err := s.read(ctx, f, func(r *row) error {
		if i >= len(rows) || !equalRows(&rows[i], r) {
			return domain.Errorf(domain.CodeCorrupt, "%s does not hold what was written: value %d differs; nothing was removed from the store", key, i+1)
		}
		i++
		return nil
	})
	if err == nil && read != int64(len(rows)) {
		err = domain.Errorf(domain.CodeCorrupt, "%s holds %d values of the %d that were written; nothing was removed from the store", key, read, len(rows))
	}
	return err
}
