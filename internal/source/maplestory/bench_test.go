package maplestory

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	simulator "sluice/internal/simulator/maplestory"
	"sluice/internal/source"
	"sluice/internal/source/trim"
)

// canned answers every call with the same bytes, without a network.
type canned []byte

// RoundTrip implements http.RoundTripper.
func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Request: r,
		ContentLength: int64(len(c)), Body: io.NopCloser(bytes.NewReader(c)),
	}, nil
}

func equipment(t testing.TB) (body []byte, ocid string) {
	t.Helper()
	sim := simulator.New(simulator.Options{Seed: 1})
	ocid = sim.Ocid(0)
	r := httptest.NewRequest(http.MethodGet, "/maplestory/v1/character/item-equipment?ocid="+ocid, nil)
	r.Header.Set("x-nxopen-api-key", simulator.DefaultKey)
	w := httptest.NewRecorder()
	sim.ServeHTTP(w, r)
	return w.Body.Bytes(), ocid
}

// BenchmarkFetch measures everything but the network: reading the body,
// trimming, hashing.
func BenchmarkFetch(b *testing.B) {
	body, ocid := equipment(b)
	s, err := New(Options{Key: simulator.DefaultKey, Transport: canned(body)})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if res := s.Fetch(b.Context(), ocid, nil); res.Verdict != source.FetchDone {
			b.Fatal(res)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "fetches/s")
}

// BenchmarkTrim measures the trimming alone.
func BenchmarkTrim(b *testing.B) {
	body, _ := equipment(b)
	roots, err := compileFields(DefaultFields())
	if err != nil {
		b.Fatal(err)
	}
	padded := append(body, make([]byte, trim.Padding)...)
	t := &trim.Trimmer{}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := t.Trim(padded, roots["item-equipment"]); !ok {
			b.Fatal("not trimmed")
		}
	}
}

// BenchmarkHash measures the hash of a trimmed body.
func BenchmarkHash(b *testing.B) {
	text := make([]byte, 17_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_ = sha256.Sum256(text)
	}
}

// BenchmarkFetchOverHTTP measures collector and simulator together, in one
// process, over the loopback.
func BenchmarkFetchOverHTTP(b *testing.B) {
	sim := simulator.New(simulator.Options{Seed: 1, Limits: simulator.Limits{PerSecond: -1, PerDay: -1}})
	server := httptest.NewServer(sim)
	defer server.Close()
	s, err := New(Options{BaseURL: server.URL, Key: simulator.DefaultKey})
	if err != nil {
		b.Fatal(err)
	}
	ocid := sim.Ocid(0)
	b.ReportAllocs()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if res := s.Fetch(b.Context(), ocid, nil); res.Verdict != source.FetchDone {
				b.Error(res)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "fetches/s")
}
