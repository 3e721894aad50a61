package httpapi

import (
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// DocumentPath is where the description of the API is, and OlderDocumentPath
// where it is for generators that know OpenAPI 3.0 alone.
const (
	DocumentPath      = "/api/openapi.json"
	OlderDocumentPath = "/api/openapi-3.0.json"
)

// config is the same whatever is configured, but for the version: there is one
// description of the API.
func config(o Options) huma.Config {
	c := huma.DefaultConfig("Sluice", o.Version)
	c.Info.Description = aboutTheAPI
	c.Info.License = &huma.License{Name: "Apache License 2.0", URL: "https://www.apache.org/licenses/LICENSE-2.0"}
	c.Servers = []*huma.Server{{URL: "/", Description: "The service that this description comes from"}}
	c.Tags = tags
	// Huma's own handler of the document is not safe for concurrent use.
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	// The default hooks add a $schema field to every answer.
	c.CreateHooks = nil
	c.RejectUnknownQueryParameters = true
	c.Transformers = []huma.Transformer{codedProblems, namedCursors}
	format := huma.Format{Marshal: writeJSON, Unmarshal: huma.DefaultJSONFormat.Unmarshal}
	c.Formats = map[string]huma.Format{"application/json": format, "json": format}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {
		Type: "http", Scheme: "bearer",
		Description: "An API token of the service. One that was started without takes requests to the loopback address alone, and needs none.",
	}}
	c.Security = []map[string][]string{{"token": {}}, {}}
	enums(c.Components.Schemas)
	return c
}

// writeJSON writes an answer; what knows a quicker way than encoding/json takes
// it.
func writeJSON(w io.Writer, v any) error {
	if quick, ok := v.(interface{ WriteJSON(w io.Writer) error }); ok {
		return quick.WriteJSON(w)
	}
	return huma.DefaultJSONFormat.Marshal(w, v)
}

// describe completes the description, once every route is registered.
func (s *server) describe(doc *huma.OpenAPI) {
	s.findKeyed(doc)
	describeAmbiguity(doc)
	describeProblems(doc)
	for _, schema := range doc.Components.Schemas.Map() {
		for _, field := range schema.Properties {
			// It is part of what is said of a wrong value, and no word of OpenAPI.
			field.PatternDescription = ""
		}
	}
	for op := range operations(doc) {
		if about := abouts[op.OperationID]; about != "" {
			op.Description = op.Summary + ". " + about
		}
		if op.Description == "" {
			op.Description = op.Summary + "."
		}
		if !s.protected(op.Path) {
			// An empty list means that nothing is needed.
			op.Security = []map[string][]string{}
		}
		if s.keyed[op.Method+" "+op.Path] {
			op.Parameters = append(op.Parameters, keyParameter())
		}
		describeAnswers(op)
		describeNulls(doc, op)
		giveExamples(doc, op)
	}
}

// describeAnswers says what every answer may have.
func describeAnswers(op *huma.Operation) {
	for status, response := range op.Responses {
		if n, err := strconv.Atoi(status); err == nil && n < http.StatusBadRequest && response.Description == http.StatusText(n) {
			response.Description = successes[n]
		}
	}
	if also := alsoAnswers[op.OperationID]; also != 0 {
		op.Responses[strconv.Itoa(also)] = &huma.Response{Description: successes[also], Content: op.Responses[strconv.Itoa(op.DefaultStatus)].Content}
	}
	if slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "query" && p.Schema.Type == huma.TypeArray }) {
		op.Responses["431"] = &huma.Response{
			Description: "The address is longer than 32 KiB; this comes before anything is looked at, and is no problem but a text",
			Content:     map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}
	}
	op.Responses["default"] = &huma.Response{
		Description: "Any other problem; its code tells which",
		Content:     map[string]*huma.MediaType{problemType: {Schema: &huma.Schema{Ref: problemSchema}}},
	}
}

// alsoAnswers are the statuses of those that answer with another one when the
// thing was there already.
var alsoAnswers = map[string]int{"signup": http.StatusOK, "add-source": http.StatusOK, "set-timer": http.StatusOK}

// describeNulls says of the fields of a request that need not be there that null
// is as good as leaving them out.
func describeNulls(doc *huma.OpenAPI, op *huma.Operation) {
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return
	}
	s := op.RequestBody.Content["application/json"].Schema
	if s.Ref != "" {
		s = doc.Components.Schemas.SchemaFromRef(s.Ref)
	}
	for name, field := range s.Properties {
		if slices.Contains(s.Required, name) || field.Ref != "" || field.Type == "" || field.Nullable {
			continue
		}
		field.Nullable = true
		if len(field.Enum) > 0 {
			field.Enum = append(field.Enum, nil)
		}
	}
}

// successes say what HTTP's own words leave open.
var successes = map[int]string{
	http.StatusOK:          "It is done; this is what came of it, or how things stand",
	http.StatusCreated:     "It was created",
	http.StatusAccepted:    "It is accepted, and will be done",
	http.StatusNoContent:   "It is done, and there is nothing to tell",
	http.StatusNotModified: "Nothing has changed since the answer that the request names",
}

// operations yields every operation of a description.
func operations(doc *huma.OpenAPI) iter.Seq[*huma.Operation] {
	return func(yield func(*huma.Operation) bool) {
		for _, item := range doc.Paths {
			for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
				if op != nil && !yield(op) {
					return
				}
			}
		}
	}
}

// serveOpenAPI serves the description, encoded when it is first asked for.
func (s *server) serveOpenAPI(encode func() ([]byte, error)) http.HandlerFunc {
	encode = sync.OnceValues(encode)
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := encode()
		if err != nil {
			writeProblem(w, s.problem(r.Context(), "openapi", err))
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		// A caller that went away gets no more.
		_, _ = w.Write(text)
	}
}

// registerDocuments serves the description for both generations of OpenAPI.
func (s *server) registerDocuments(doc *huma.OpenAPI) {
	s.mux.HandleFunc("GET "+DocumentPath, s.serveOpenAPI(func() ([]byte, error) { return json.Marshal(doc) }))
	s.mux.HandleFunc("GET "+OlderDocumentPath, s.serveOpenAPI(doc.Downgrade))
}

// aboutTheAPI opens the description.
var aboutTheAPI = strings.TrimSpace(`
Sluice keeps a complete, fresh copy of data behind APIs that ration their calls. Everything that the command line does,
it does through this API.

Errors are problems (RFC 9457): code tells programs what happened, detail tells people what to do, and type leads to a
page about it. Lists come in pages. Streams are server-sent events that can be resumed. A POST that is to be done once,
however often it is sent, has an Idempotency-Key.

The description is the same in every configuration. What a service is not configured for answers with a problem that says
what to configure.
`)

// tags are the groups of operations, in the order in which people need them.
var tags = []*huma.Tag{
	{Name: "accounts", Description: "Whom data is collected for: their credentials, what is kept back for them, and when they are collected again."},
	{Name: "sources", Description: "Where data is collected: upstreams that the program knows, or that files describe."},
	{Name: "runs", Description: "Collections: started by hand, by schedule or by a webhook; one at a time for each account."},
	{Name: "jobs", Description: "The calls that a run is made of, each of them one call of the upstream."},
	{Name: "quota", Description: "What upstreams allow, what is left of it, and who waits for it."},
	{Name: "events", Description: "What happens, as it happens: streams of server-sent events."},
	{Name: "statistics", Description: "What was computed from what was collected."},
	{Name: "export", Description: "What was collected, as rows."},
	{Name: "timers", Description: "Durable instants, and who was told when they came."},
	{Name: "snapshots", Description: "The last known values of single records, and their refreshes."},
	{Name: "dlq", Description: "Dead letters: requests that failed for good and wait for a person."},
	{Name: "sinks", Description: "Where documents are carried to, and how far that is."},
	{Name: "notifications", Description: "What people are told without looking, and test messages."},
	{Name: "archive", Description: "What snapshots once were, in files."},
	{Name: "access", Description: "Who may do what: tokens of the API, and the log of who changed what."},
	{Name: "probes", Description: "Whether the service works, for those who watch over it."},
}
