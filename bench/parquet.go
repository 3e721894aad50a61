package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"sluice/bench/report"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/source/github"
)

const (
	exportedRows   = 1_000_000
	exportedTarget = 200_000 // rows a second
	exportedSample = 50_000
)

// parquetExport measures the export of commits as Parquet from SQLite, beside
// parquet-go alone, which writes rows of the same columns that lie in memory. It also
// compares the memory of the export with that of a tenth of the rows.
func parquetExport(ctx context.Context, l *lab) error {
	rows := l.size(exportedRows, 20_000)
	dir, remove, err := l.folder("parquet")
	if err != nil {
		return err
	}
	defer remove()
	shelf, err := storingShelf(ctx, l)
	if err != nil {
		return err
	}
	defer shelf.close()
	reader, ok := shelf.store.(document.Reader)
	writer, writes := shelf.store.(document.Writer)
	if !ok || !writes {
		return errors.New("the store does not read or write")
	}
	src := export.Sources{Documents: reader, Kinds: github.Kinds()}
	dice := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same pages every time
	fill := func(from, to int) error {
		for p := from; p < to; p += listedPage {
			if err := writer.Upsert(ctx, commitPage(dice, p)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := fill(0, rows/10); err != nil {
		return err
	}
	_, _, small, err := exportOnce(ctx, src, io.Discard)
	if err != nil {
		return err
	}
	if err := fill(rows/10, rows); err != nil {
		return err
	}
	var speeds, raw []float64
	large := uint64(0)
	for range l.rounds() {
		file, err := os.Create(filepath.Join(dir, "commits.parquet"))
		if err != nil {
			return err
		}
		n, took, peak, err := exportOnce(ctx, src, file)
		if err != nil {
			return errors.Join(err, file.Close())
		}
		plain, err := writeRaw(file, n)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
		speeds, raw, large = append(speeds, float64(n)/took.Seconds()), append(raw, plain), max(large, peak)
	}
	speed, alone := report.Median(speeds), report.Median(raw)
	line := report.Line{Name: "parquet_export", Value: speed, Unit: "rows/s",
		Detail: fmt.Sprintf("%d commits; heap at most %d MB, with a tenth of them %d MB", rows, large>>20, small>>20)}
	return l.report.Add(line.Against("parquet-go alone, from memory", alone).
		Aim(fmt.Sprintf(">= %d rows/s, or what parquet-go does", exportedTarget), speed >= exportedTarget || speed >= alone))
}

// exportOnce exports all commits and says how many, in what time, and how large the
// heap was at most.
func exportOnce(ctx context.Context, src export.Sources, w io.Writer) (rows int64, took time.Duration, peak uint64, err error) {
	o := export.Options{Kind: "commits", Format: export.FormatParquet}
	for id := range int64(21) {
		o.Accounts = append(o.Accounts, domain.Account{ID: id + 1, Login: fmt.Sprintf("account-%d", id+1)})
	}
	runtime.GC()
	ended := make(chan struct{})
	highest := make(chan uint64)
	go func() {
		var m runtime.MemStats
		look := time.NewTicker(20 * time.Millisecond)
		defer look.Stop()
		for most := uint64(0); ; {
			select {
			case <-look.C:
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
			case <-ended:
				highest <- most
				return
			}
		}
	}()
	began := time.Now()
	rows, err = export.Export(ctx, src, o, w)
	took = time.Since(began)
	close(ended)
	return rows, took, <-highest, err
}

// writeRaw is how many rows a second parquet-go writes: those of a file, some of them
// again and again.
func writeRaw(file *os.File, rows int64) (speed float64, err error) {
	in := parquet.NewReader(file)
	defer func() { err = errors.Join(err, in.Close()) }()
	sample := make([]parquet.Row, min(rows, exportedSample))
	for n := 0; n < len(sample); {
		got, err := in.ReadRows(sample[n:])
		for i := range got {
			sample[n+i] = sample[n+i].Clone()
		}
		if n += got; err != nil && (!errors.Is(err, io.EOF) || n < len(sample)) {
			return 0, err
		}
	}
	began := time.Now()
	out := parquet.NewGenericWriter[any](io.Discard, in.Schema(), parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.MaxRowsPerRowGroup(exportedSample), parquet.PageBufferSize(256<<10), parquet.WriteBufferSize(64<<10))
	for left := rows; left > 0; left -= int64(len(sample)) {
		if _, err := out.WriteRows(sample[:min(left, int64(len(sample)))]); err != nil {
			return 0, err
		}
	}
	if err := out.Close(); err != nil {
		return 0, err
	}
	return float64(rows) / time.Since(began).Seconds(), nil
}
