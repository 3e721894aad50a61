package traces_test

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"sluice/internal/traces"
)

// receiver takes OTLP over HTTP.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	spans map[string]*otlp.Span
	about map[string]string
	paths map[string]bool
}

func startReceiver(t *testing.T) *receiver {
	r := &receiver{spans: map[string]*otlp.Span{}, about: map[string]string{}, paths: map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var from io.Reader = q.Body
		if q.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(q.Body)
			if err != nil {
				t.Error(err)
				return
			}
			from = unpacked
		}
		body, err := io.ReadAll(from)
		var sent collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &sent)
		}
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.paths[q.URL.Path] = true
		for _, one := range sent.GetResourceSpans() {
			for _, a := range one.GetResource().GetAttributes() {
				r.about[a.GetKey()] = a.GetValue().GetStringValue()
			}
			for _, scope := range one.GetScopeSpans() {
				for _, span := range scope.GetSpans() {
					r.spans[span.GetName()] = span
				}
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

func attributeOf(s *otlp.Span, name string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == name {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// TestSpansArrive: a request, the job that it began in another process, and the
// job's call are one trace, each below the one before.
func TestSpansArrive(t *testing.T) {
	r := startReceiver(t)
	tracer, err := traces.Open(t.Context(), traces.Options{Endpoint: r.URL, Sample: 1000, Version: "v1", Process: "here:1"})
	if err != nil || tracer == nil {
		t.Fatalf("got %v, %v", tracer, err)
	}
	request := httptest.NewRequest(http.MethodPost, "/api/v1/runs", nil)
	ctx, server := tracer.StartServer(t.Context(), request)
	parent := traces.Parent(ctx)
	server.Rename("POST /api/v1/runs").End()
	_, job := tracer.StartJob(context.Background(), "job ROOT", parent)
	_, call := tracer.StartCall(t.Context(), "call", job)
	call.Failed("the upstream said 500").End()
	_, commit := tracer.Start(t.Context(), "commit", job)
	commit.End()
	job.Int("job", 7).Text("correlation_id", "request-1").End()
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !r.paths["/v1/traces"] || r.about["service.name"] != "sluice" || r.about["service.instance.id"] != "here:1" || len(r.spans) != 4 {
		t.Fatalf("came %v, %v, %v", r.paths, r.about, r.spans)
	}
	top, work := r.spans["POST /api/v1/runs"], r.spans["job ROOT"]
	for name, below := range map[string]*otlp.Span{"job ROOT": top, "call": work, "commit": work} {
		span := r.spans[name]
		if hex.EncodeToString(span.GetParentSpanId()) != hex.EncodeToString(below.GetSpanId()) || string(span.GetTraceId()) != string(top.GetTraceId()) {
			t.Errorf("%s is not below %s", name, below.GetName())
		}
	}
	if r.spans["call"].GetStatus().GetMessage() != "the upstream said 500" || r.spans["call"].GetKind() != otlp.Span_SPAN_KIND_CLIENT || attributeOf(work, "correlation_id") != "request-1" {
		t.Errorf("the spans are %+v", r.spans)
	}
	if traces.IDOf(ctx) != hex.EncodeToString(top.GetTraceId()) {
		t.Errorf("the trace is %s", traces.IDOf(ctx))
	}
}

// TestWhereTracesGo: the variables that every program with OpenTelemetry has, and
// nothing without one.
func TestWhereTracesGo(t *testing.T) {
	r := startReceiver(t)
	none := func(string) (string, bool) { return "", false }
	if tracer, err := traces.Open(t.Context(), traces.Options{Env: none}); tracer != nil || err != nil {
		t.Errorf("without an address: %v, %v", tracer, err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	tracer, err := traces.Open(t.Context(), traces.Options{Sample: 1000, Env: func(name string) (string, bool) {
		return r.URL, name == "OTEL_EXPORTER_OTLP_ENDPOINT"
	}})
	if err != nil || tracer == nil {
		t.Fatalf("got %v, %v", tracer, err)
	}
	_, span := tracer.Start(t.Context(), "x", nil)
	span.End()
	if err := tracer.Close(t.Context()); err != nil || r.spans["x"] == nil {
		t.Errorf("came %v, %v", r.spans, err)
	}
	kept, err := traces.Open(t.Context(), traces.Options{Endpoint: r.URL + "/other/path", Sample: 0})
	if err != nil {
		t.Fatal(err)
	}
	_, span = kept.Start(t.Context(), "y", nil)
	span.End()
	if err := kept.Close(t.Context()); err != nil || r.spans["y"] != nil {
		t.Errorf("what is not sampled came: %v, %v", r.spans, err)
	}
}

// TestNothingCostsNothing: without an address a span allocates nothing.
func TestNothingCostsNothing(t *testing.T) {
	var tracer *traces.Tracer
	ctx, request := t.Context(), httptest.NewRequest(http.MethodGet, "/", nil)
	allocated := testing.AllocsPerRun(1000, func() {
		ctx, server := tracer.StartServer(ctx, request)
		_, job := tracer.StartJob(ctx, "job", "")
		_, call := tracer.StartCall(ctx, "call", job)
		_, commit := tracer.Start(ctx, "commit", job)
		call.Text("verdict", "done").Int("n", 1).Failed("x").Error(io.EOF).Rename("y").End()
		commit.End()
		job.End()
		server.End()
		_, _ = traces.Parent(ctx), traces.IDOf(ctx)
	})
	if allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
	if err := tracer.Close(ctx); err != nil {
		t.Error(err)
	}
}
