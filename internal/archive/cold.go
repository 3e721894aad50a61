package archive

import (
	"context"
	"errors"
	"strings"
	"time"

	"sluice/internal/domain"
)

// Cooled is what Cool did.
type Cooled struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

// Cool moves files under cold/ whose values were all stored before an instant.
// A file that cannot be moved stays and is part of the error; the others move.
func (a *Archiver) Cool(ctx context.Context, before time.Time) (done Cooled, err error) {
	release, err := a.take(ctx)
	if err != nil {
		return done, err
	}
	defer release()
	var failures []error
	for o, err := range a.files.List(ctx, historyPrefix) {
		if err != nil {
			return done, errors.Join(append(failures, err)...)
		}
		f, ok := parseKey(o.Key)
		switch {
		case !ok:
			err = a.sweep(ctx, o)
		case f.Last.Before(before):
			if err = a.cool(ctx, f); err == nil {
				done.Files++
				done.Bytes += o.Size
			}
		}
		if err == nil {
			continue
		}
		failures = append(failures, err)
		if domain.CodeOf(err) != domain.CodeCorrupt {
			break
		}
	}
	return done, errors.Join(failures...)
}

// cool moves one file. The copy is read back before the file goes. A copy that
// is in order already, of a move that was interrupted, is never written over:
// the file may be damaged since.
func (a *Archiver) cool(ctx context.Context, f File) error {
	to := f
	to.Key = coldPrefix + f.name
	_, err := a.read(ctx, to, noVisit)
	if code := domain.CodeOf(err); code == domain.CodeNotFound || code == domain.CodeCorrupt {
		data, err := a.files.Read(ctx, f.Key)
		if err != nil {
			return err
		}
		if _, err := readRows(f, data, noVisit); err != nil {
			return err
		}
		if err := a.files.Write(ctx, to.Key, data); err != nil {
			return err
		}
		if _, err := a.read(ctx, to, noVisit); err != nil {
			return err
		}
		return a.files.Remove(ctx, f.Key)
	}
	if err != nil {
		return err
	}
	return a.files.Remove(ctx, f.Key)
}

// abandoned is how old an unfinished file is that nobody is writing any more.
const abandoned = day

// sweep removes what a writer that was killed left in a folder.
func (a *Archiver) sweep(ctx context.Context, o Object) error {
	name, unfinished := strings.CutSuffix(o.Key, ".tmp")
	at := strings.LastIndexByte(name, '.')
	if !unfinished || at < 0 || time.Since(o.Written) < abandoned {
		return nil
	}
	if _, ok := parseKey(name[:at]); !ok {
		return nil
	}
	return a.files.Remove(ctx, o.Key)
}
