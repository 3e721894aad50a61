package archive

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/refresh"
)

const (
	benchValues = 100_000
	benchBody   = 17_000
)

// endless is a history that makes its values when they are listed, so that what
// is measured is the archive.
type endless struct{ forgotten int }

func (h *endless) Values(_ context.Context, _ time.Time, after string, limit int) (values []refresh.Value, last string, err error) {
	n := h.forgotten
	if after != "" {
		if n, err = strconv.Atoi(after); err != nil {
			return nil, "", err
		}
	}
	for range min(limit, benchValues-n) {
		body := character(n)
		values = append(values, refresh.Value{
			Entity: refresh.Entity{Source: "game", Key: fmt.Sprintf("%032x", uint64(n)*0x9e3779b97f4a7c15)}, Version: int64(n),
			StoredAt: start.Add(time.Duration(n) * 500 * time.Millisecond), Body: body, Hash: sha256.Sum256(body),
		})
		n++
	}
	return values, strconv.Itoa(n), nil
}

func (h *endless) Forget(_ context.Context, upTo string) (n int, err error) {
	h.forgotten, err = strconv.Atoi(upTo)
	return 0, err
}

func (h *endless) Restore(context.Context, []refresh.Value) error { return nil }

// character is a document such as a game's: the same names with other numbers.
func character(n int) []byte {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	body := make([]byte, 0, benchBody+300)
	body = append(body, `{"equipment":[`...)
	for len(body) < benchBody {
		body = fmt.Appendf(body, `{"slot":"slot-%d","name":"item-%d","starforce":%d,"option":{"str":%d,"dex":%d,"int":%d,"luk":%d,"hp":%d,"attack":%d},"potential":"grade-%d: %d%%","id":"%x"},`,
			r.IntN(24), r.IntN(3000), r.IntN(26), r.IntN(200), r.IntN(200), r.IntN(200), r.IntN(200), r.IntN(5000), r.IntN(100), r.IntN(5), r.IntN(13), r.Uint64())
	}
	return append(body, `{}]}`...)
}

// BenchmarkArchive tells what 100,000 values take.
func BenchmarkArchive(b *testing.B) {
	for b.Loop() {
		bucket := buckets["folder"](b)
		a, err := New(&endless{}, bucket, Options{})
		if err != nil {
			b.Fatal(err)
		}
		peak, stop := peakHeap()
		done, err := a.Archive(b.Context(), far)
		if err != nil || done.Values != benchValues {
			b.Fatalf("%+v: %v", done, err)
		}
		stop()
		b.ReportMetric(float64(done.Bytes)/benchValues, "bytes/value")
		b.ReportMetric(float64(done.Files), "files")
		b.ReportMetric(float64(peak.Load())/(1<<20), "peak-MiB")
		b.ReportMetric(float64(b.Elapsed().Microseconds())/benchValues, "µs/value")
	}
}

// BenchmarkMaking tells how much of BenchmarkArchive is the making of values.
func BenchmarkMaking(b *testing.B) {
	for b.Loop() {
		for n := range benchValues {
			body := character(n)
			_ = sha256.Sum256(body)
		}
	}
}

// peakHeap watches how much memory is in use until it is stopped.
func peakHeap() (peak *atomic.Uint64, stop func()) {
	peak = &atomic.Uint64{}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse))
			select {
			case <-tick.C:
			case <-end:
				return
			}
		}
	}()
	return peak, func() { close(end); <-ended }
}
