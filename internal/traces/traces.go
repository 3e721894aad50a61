// Package traces sends spans of requests, jobs, calls, commits and refreshes to
// what takes OpenTelemetry's protocol over HTTP, when an address is given. When
// none is, a Tracer is nil, and everything that is asked of it costs nothing.
//
// Spans hold ids and what became of something, never what a request or an answer
// said.
package traces

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"sluice/internal/domain"
)

// The variables that say where traces go, as every program with OpenTelemetry has
// them. What else they have for the exporter (headers, certificates, timeouts)
// it reads itself.
const (
	endpointVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesVariable   = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
)

// closeTime is how long what was not sent yet may take when a process ends.
const closeTime = 5 * time.Second

// Options says where spans go.
type Options struct {
	// Endpoint is a URL such as http://127.0.0.1:4318; "" is what the environment
	// says.
	Endpoint string
	// Sample is how many of a thousand are kept of what no caller has decided
	// about.
	Sample int
	// Version and Process name the program and this process.
	Version, Process string
	Env              func(string) (string, bool)
}

// Tracer makes spans. A nil one makes none.
type Tracer struct {
	tracer   trace.Tracer
	provider *sdk.TracerProvider
}

// Open returns a tracer, or nil if nobody takes traces.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	var to []otlptracehttp.Option
	if o.Endpoint != "" {
		to = append(to, otlptracehttp.WithEndpointURL(o.Endpoint+tracesPath(o.Endpoint)))
	} else if !set(o.Env, endpointVariable) && !set(o.Env, tracesVariable) {
		return nil, nil //nolint:nilnil // a nil tracer is one that makes no spans
	}
	exporter, err := otlptracehttp.New(ctx, to...)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "traces cannot be sent: %w", err)
	}
	about := resource.NewSchemaless(
		attribute.String("service.name", "sluice"), attribute.String("service.version", o.Version), attribute.String("service.instance.id", o.Process),
	)
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(exporter), sdk.WithResource(about),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(float64(o.Sample)/1000))),
	)
	return &Tracer{tracer: provider.Tracer("sluice"), provider: provider}, nil
}

func set(env func(string) (string, bool), name string) bool {
	if env == nil {
		return false
	}
	value, ok := env(name)
	return ok && value != ""
}

// tracesPath is what follows an address that has no path.
func tracesPath(endpoint string) string {
	if request, err := http.NewRequest(http.MethodPost, endpoint, http.NoBody); err != nil || len(request.URL.Path) > 1 { //nolint:noctx // it is not sent
		return ""
	} else if request.URL.Path == "/" {
		return "v1/traces"
	}
	return "/v1/traces"
}

// Close sends what is left.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

// Start begins a span below another, or below that of ctx if there is none.
func (t *Tracer) Start(ctx context.Context, name string, parent *Span) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	if parent != nil {
		ctx = trace.ContextWithSpan(ctx, parent.span)
	}
	return t.start(ctx, name, trace.SpanKindInternal)
}

// StartCall is Start for what is asked of an upstream.
func (t *Tracer) StartCall(ctx context.Context, name string, parent *Span) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	if parent != nil {
		ctx = trace.ContextWithSpan(ctx, parent.span)
	}
	return t.start(ctx, name, trace.SpanKindClient)
}

// StartJob begins the span of work that a request began, in this process or
// another: traceparent is what Parent said of it.
func (t *Tracer) StartJob(ctx context.Context, name, traceparent string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	if traceparent != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
	}
	return t.start(ctx, name, trace.SpanKindConsumer)
}

// StartServer begins the span of a request; a caller that traces may have begun
// its trace.
func (t *Tracer) StartServer(ctx context.Context, r *http.Request) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	return t.start(ctx, r.Method, trace.SpanKindServer)
}

func (t *Tracer) start(ctx context.Context, name string, kind trace.SpanKind) (context.Context, *Span) {
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, &Span{span}
}

// Parent is the span of a context as the W3C writes it, for work that goes on
// elsewhere; "" if there is none.
func Parent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// IDOf is the trace of a context; "" if there is none.
func IDOf(ctx context.Context) string {
	about := trace.SpanContextFromContext(ctx)
	if !about.HasTraceID() {
		return ""
	}
	return about.TraceID().String()
}

// Span is something that takes time. A nil one is not traced. A method may be
// called on what another returns.
type Span struct{ span trace.Span }

// Text sets an attribute; "" sets none.
func (s *Span) Text(name, value string) *Span {
	if s != nil && value != "" {
		s.span.SetAttributes(attribute.String(name, value))
	}
	return s
}

// Int sets an attribute.
func (s *Span) Int(name string, value int64) *Span {
	if s != nil {
		s.span.SetAttributes(attribute.Int64(name, value))
	}
	return s
}

// Failed marks the span as failed, unless why is "".
func (s *Span) Failed(why string) *Span {
	if s != nil && why != "" {
		s.span.SetStatus(codes.Error, why)
	}
	return s
}

// Error marks the span as failed, unless err is nil.
func (s *Span) Error(err error) *Span {
	if s != nil && err != nil {
		s.Failed(err.Error())
	}
	return s
}

// Rename gives the span the name that is known only at its end.
func (s *Span) Rename(name string) *Span {
	if s != nil && name != "" {
		s.span.SetName(name)
	}
	return s
}

// End ends the span.
func (s *Span) End() {
	if s != nil {
		s.span.End()
	}
}
