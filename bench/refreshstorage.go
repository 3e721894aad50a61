package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/bench/proc"
	"sluice/bench/report"
	sim "sluice/internal/simulator/maplestory"
	"sluice/internal/source/maplestory"
)

const (
	// storageSaved is how much less is stored and written than the answers as
	// they come, in percent.
	storageSaved = 94
	// storageChanged of the characters change between two refreshes, one in so
	// many.
	storageChanged = 10
)

// stored is what keeping the characters cost on disk, in bytes for each.
type stored struct {
	// first and again were written for a refresh of all.
	first, again float64
	// disk is what the files have after the first, and diskAgain after both;
	// wal is what of it is the write-ahead log, which stays as large as it is.
	disk, diskAgain, wal float64
}

// refreshStorage compares snapshots with the answers they are made of, as they
// come and compressed: what is on disk, and what is written for it.
func refreshStorage(ctx context.Context, l *lab) error {
	n := l.size(2_000, 100)
	var sides []stored
	for _, keep := range []func(context.Context, storageWorld) (stored, error){l.keepSnapshots, l.keepPlain, l.keepZstd} {
		// Each begins with the same world.
		s, err := keep(ctx, newStorageWorld(n))
		if err != nil {
			return err
		}
		sides = append(sides, s)
	}
	for i, name := range []string{"Sluice", "the answers", "the answers with zstd"} {
		s := sides[i]
		l.notef("%s: %.0f bytes on disk for each of %d, %.0f written for a first refresh and %.0f for one in which a tenth changed",
			name, s.disk, n, s.first, s.again)
	}
	return l.reportStorage(sides[0], sides[1], sides[2], n)
}

// storageFigure is a figure beside another.
type storageFigure struct {
	name   string
	value  float64
	detail string
	beside string
	peer   float64
	// aims says that the target is about this one.
	aims bool
}

func (l *lab) reportStorage(ours, plain, packed stored, n int) error {
	const (
		asTheyCome = "answers of 300 KB as they come"
		compressed = "the same answers with zstd"
		inPlace    = "answers in their place, where SQLite skips pages that stay the same"
	)
	disk := fmt.Sprintf("on disk after one refresh of each, everything included; %.0f without the write-ahead log", ours.disk-ours.wal)
	const diskAgain = "on disk after a second refresh in which a tenth changed, earlier values included"
	const first = "written for the first refresh: requests, write-ahead log and checkpoints included"
	const again = "written for a refresh in which a tenth changed"
	for _, f := range []storageFigure{
		{"refresh_storage_disk", ours.disk, disk, asTheyCome, plain.disk, true},
		{"refresh_storage_disk", ours.disk, disk, compressed, packed.disk, false},
		{"refresh_storage_disk_again", ours.diskAgain, diskAgain, asTheyCome, plain.diskAgain, true},
		{"refresh_storage_disk_again", ours.diskAgain, diskAgain, compressed, packed.diskAgain, false},
		{"refresh_storage_written", ours.first, first, asTheyCome, plain.first, true},
		{"refresh_storage_written", ours.first, first, compressed, packed.first, false},
		// To store answers is to write each of them, for what the first pass cost. A
		// file that is compared page by page before it is written is beside it.
		{"refresh_storage_written_again", ours.again, again, "all answers written again, as for the first refresh", plain.first, true},
		{"refresh_storage_written_again", ours.again, again, inPlace, plain.again, false},
		{"refresh_storage_written_again", ours.again, again, inPlace + ", with zstd", packed.again, false},
	} {
		saved := 100 * (1 - f.value/f.peer)
		line := report.Line{
			Name: f.name, Value: f.value, Unit: "bytes/snapshot",
			Detail: fmt.Sprintf("%s; %d characters, %.1f %% less", f.detail, n, saved),
		}.Against(f.beside, f.peer)
		if f.aims {
			line = line.Aim(fmt.Sprintf(">= %d %% less", storageSaved), saved >= storageSaved)
		}
		if err := l.report.Add(line); err != nil {
			return err
		}
	}
	return nil
}

// storageWorld is the game in this process.
type storageWorld struct {
	*sim.Server
	keys []string
}

func newStorageWorld(n int) storageWorld {
	w := storageWorld{Server: sim.New(sim.Options{Characters: n, Limits: sim.Limits{PerSecond: -1, PerDay: -1}})}
	for i := range n {
		w.keys = append(w.keys, maplestory.DefaultPart+":"+w.Ocid(i))
	}
	return w
}

// change lets a tenth of the characters change.
func (w storageWorld) change() {
	for i := 0; i < len(w.keys); i += storageChanged {
		w.Change(w.keys[i])
	}
}

// RoundTrip implements http.RoundTripper, without a network.
func (w storageWorld) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	w.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// answer is what the game says of a character.
func (w storageWorld) answer(ctx context.Context, i int) ([]byte, error) {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/maplestory/v1/character/item-equipment?ocid="+w.Ocid(i), http.NoBody)
	r.Header.Set("x-nxopen-api-key", sim.DefaultKey)
	answer := httptest.NewRecorder()
	w.ServeHTTP(answer, r)
	if answer.Code != http.StatusOK {
		return nil, fmt.Errorf("the game answers %d: %s", answer.Code, answer.Body)
	}
	return answer.Body.Bytes(), nil
}

// measureStorage refreshes all characters of a world, lets some change, and
// refreshes all again; refresh also closes its files.
func (l *lab) measureStorage(w storageWorld, refresh func(dir string) error) (s stored, err error) {
	dir, remove, err := l.folder("storage")
	if err != nil {
		return s, err
	}
	defer remove()
	if s.first, s.disk, err = refreshInto(dir, refresh); err != nil {
		return s, err
	}
	if s.first == 0 {
		return s, errors.New("nothing was written: give a folder on a disk with -dir")
	}
	if s.wal, err = walSize(dir); err != nil {
		return s, err
	}
	w.change()
	s.again, s.diskAgain, err = refreshInto(dir, refresh)
	for _, figure := range []*float64{&s.first, &s.again, &s.disk, &s.diskAgain, &s.wal} {
		*figure /= float64(len(w.keys))
	}
	return s, err
}

// refreshInto returns what a refresh has written and what is in the folder then.
func refreshInto(dir string, refresh func(dir string) error) (written, disk float64, err error) {
	before, err := proc.Written()
	if err != nil {
		return 0, 0, err
	}
	if err := refresh(dir); err != nil {
		return 0, 0, err
	}
	after, err := proc.Written()
	if err != nil {
		return 0, 0, err
	}
	size, err := folderSize(dir)
	return float64(after - before), float64(size), err
}

// walSize is how large the write-ahead logs in a folder are.
func walSize(dir string) (total float64, err error) {
	logs, err := filepath.Glob(filepath.Join(dir, "*-wal"))
	if err != nil {
		return 0, err
	}
	for _, log := range logs {
		info, err := os.Stat(log)
		if err != nil {
			return 0, err
		}
		total += float64(info.Size())
	}
	return total, nil
}

// keepSnapshots is what Sluice does.
func (l *lab) keepSnapshots(ctx context.Context, w storageWorld) (stored, error) {
	source, err := maplestory.New(maplestory.Options{BaseURL: "http://game", Key: sim.DefaultKey, Transport: w})
	if err != nil {
		return stored{}, err
	}
	return l.measureStorage(w, func(dir string) (err error) {
		p, err := openPipeline(ctx, dir, source)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.close()) }()
		_, err = p.work(ctx, w.keys)
		return err
	})
}

// keepPlain stores answers as they come.
func (l *lab) keepPlain(ctx context.Context, w storageWorld) (stored, error) {
	return l.keepAnswers(ctx, w, func(body []byte) []byte { return body })
}

// keepZstd stores them compressed, at zstd's usual level.
func (l *lab) keepZstd(ctx context.Context, w storageWorld) (_ stored, err error) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		return stored{}, err
	}
	defer func() { err = errors.Join(err, encoder.Close()) }()
	return l.keepAnswers(ctx, w, func(body []byte) []byte { return encoder.EncodeAll(body, nil) })
}

// keepAnswers stores answers in a file with the same pragmas, each in the place
// of the one before. SQLite itself writes no page that stays as it is, so that
// an answer that has not changed costs little here, too.
func (l *lab) keepAnswers(ctx context.Context, w storageWorld, pack func(body []byte) []byte) (stored, error) {
	return l.measureStorage(w, func(dir string) (err error) {
		conn, err := openRaw(filepath.Join(dir, "answers.db"))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, conn.Close()) }()
		const table = "CREATE TABLE IF NOT EXISTS answer (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, checked_at INTEGER NOT NULL, body BLOB NOT NULL)"
		if err := sqlitex.ExecuteTransient(conn, table, nil); err != nil {
			return err
		}
		return transactions(ctx, conn, len(w.keys), rawBatch, func(from, n int) error {
			for i := from; i < from+n; i++ {
				if err := w.keep(ctx, conn, i, pack); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func (w storageWorld) keep(ctx context.Context, conn *sqlite.Conn, i int, pack func(body []byte) []byte) error {
	body, err := w.answer(ctx, i)
	if err != nil {
		return err
	}
	return sqlitex.Execute(conn, "INSERT INTO answer (key, checked_at, body) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET checked_at = excluded.checked_at, body = excluded.body",
		&sqlitex.ExecOptions{Args: []any{w.keys[i], time.Now().UnixMicro(), pack(body)}})
}
