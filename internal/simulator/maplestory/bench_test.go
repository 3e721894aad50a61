package maplestory

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// nowhere is a ResponseWriter that forgets.
type nowhere struct{ header http.Header }

// Header implements http.ResponseWriter.
func (n nowhere) Header() http.Header { return n.header }

// Write implements http.ResponseWriter.
func (n nowhere) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (n nowhere) WriteHeader(int) {}

// BenchmarkHandler measures the simulator alone, without a network.
func BenchmarkHandler(b *testing.B) {
	for _, c := range []struct {
		name string
		part part
		size int
	}{{"equipment-300KB", itemEquipment, 0}, {"equipment-12KB", itemEquipment, 12_000}, {"basic", basic, 0}} {
		b.Run(c.name, func(b *testing.B) {
			s := New(Options{Seed: 1, BodySize: c.size, Limits: Limits{PerSecond: -1, PerDay: -1}})
			ocid := s.Ocid(1)
			r := httptest.NewRequest(http.MethodGet, partPath(c.part, ocid), nil)
			r.Header.Set("x-nxopen-api-key", DefaultKey)
			b.ReportAllocs()
			for b.Loop() {
				s.ServeHTTP(nowhere{http.Header{}}, r)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
		})
	}
}

// BenchmarkServe measures requests over HTTP in one process, client included.
func BenchmarkServe(b *testing.B) {
	for _, c := range []struct {
		name string
		size int
	}{{"300KB", 0}, {"12KB", 12_000}} {
		b.Run(c.name, func(b *testing.B) {
			s := New(Options{Seed: 1, BodySize: c.size, Limits: Limits{PerSecond: -1, PerDay: -1}})
			server := httptest.NewServer(s)
			defer server.Close()
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
			target := server.URL + partPath(itemEquipment, s.Ocid(1))
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				buffer := make([]byte, 256<<10)
				for pb.Next() {
					r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, target, nil)
					if err != nil {
						b.Error(err)
						return
					}
					r.Header.Set("x-nxopen-api-key", DefaultKey)
					res, err := client.Do(r)
					if err != nil {
						b.Error(err)
						return
					}
					_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{res.Body}, buffer)
					res.Body.Close()
					if err != nil || res.StatusCode != http.StatusOK {
						b.Errorf("%d: %v", res.StatusCode, err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
		})
	}
}

// BenchmarkTruth measures what a check of everything costs per key.
func BenchmarkTruth(b *testing.B) {
	s := New(Options{Seed: 1})
	ocid := s.Ocid(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := s.Truth(ocid, time.Time{}); !ok {
			b.Fatal("unknown")
		}
	}
}
