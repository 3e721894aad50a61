package httpapi

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/httpapi/wire"
)

const (
	// exportHeld is how much of an export is held back: whatever fails before
	// that much is there can still be told as a problem.
	exportHeld = 64 << 10
	// exportPatience is how long a reader may take for one piece; somebody may
	// be paging through it.
	exportPatience = 5 * time.Minute
)

// exportRoutes serve what was collected, one kind at a time.
type exportRoutes struct {
	*common
	accountFinder
	Reader    AccountReader
	Documents document.Reader
	// Feed and Finder are nil where the store of the documents has none.
	Feed       document.Feed
	Finder     document.Finder
	Statistics StatisticsReader
	// lists read what selects among documents.
	lists *documentRoutes
}

func (s *exportRoutes) registerExport(api huma.API) {
	op := operation{id: "export", method: http.MethodGet, path: "/api/v1/export", tag: "export",
		summary: "Stream rows of one kind; the trailer " + wire.TrailerRows + " ends a complete answer",
		errors:  []int{http.StatusNotFound, http.StatusGone, http.StatusUnprocessableEntity}}.huma()
	rows := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	op.Responses = map[string]*huma.Response{"200": {
		Description: "The rows. An answer that breaks off, or comes without its trailer, is not complete.",
		Content: map[string]*huma.MediaType{
			export.FormatJSONL.MediaType(): rows, export.FormatCSV.MediaType(): rows, export.FormatParquet.MediaType(): rows,
		},
	}}
	huma.Register(api, op, func(ctx context.Context, in *exportInput) (*huma.StreamResponse, error) {
		o, err := s.exportOptions(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, op.OperationID, err)
		}
		return &huma.StreamResponse{Body: func(answer huma.Context) { s.export(ctx, answer, op.OperationID, o) }}, nil
	})
	s.describeKinds(api.OpenAPI().Paths[op.Path].Get)
}

type exportInput struct {
	Kind       string   `query:"kind" required:"true"`
	Format     string   `query:"format" default:"jsonl" enum:"jsonl,csv,parquet"`
	Account    []string `query:"account,explode" maxItems:"1000" doc:"Only of these accounts: an id or a login each; all accounts if none is given"`
	Source     string   `query:"source" maxLength:"50" doc:"Where logins are looked up"`
	Since      string   `query:"since" maxLength:"50" doc:"Only what was created, or committed, at that time or later: RFC 3339, or a day in UTC"`
	Until      string   `query:"until" maxLength:"50" doc:"Only what was created, or committed, before that time"`
	Repository string   `query:"repository" maxLength:"300" doc:"Only of this repository: its id, or its full name such as octocat/hello-world"`
	Author     string   `query:"author" maxLength:"200" doc:"Only by this login, in whatever case"`
	State      string   `query:"state" maxLength:"50" doc:"Only in this state, such as open or closed"`
	Label      string   `query:"label" maxLength:"300" doc:"Only with this label, or topic of a repository"`
	Deleted    string   `query:"deleted" enum:"true,false" doc:"Only what the upstream shows no longer, or only what it shows; both if it is left out"`
	Changed    string   `query:"changed_since" maxLength:"20" doc:"Only documents that have changed after this position of the feed, each once and as it is now; the header Sluice-Position says where to go on the next time"`
}

// exportOptions reads and checks a request.
func (s *exportRoutes) exportOptions(ctx context.Context, in *exportInput) (o export.Options, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	o.Kind, o.Format = export.Kind(in.Kind), export.Format(in.Format)
	if o.Since, err = export.ParseInstant(in.Since); err != nil {
		return o, domain.Errorf(domain.CodeInvalid, "since: %w", err)
	}
	if o.Until, err = export.ParseInstant(in.Until); err != nil {
		return o, domain.Errorf(domain.CodeInvalid, "until: %w", err)
	}
	if err := s.changedSince(ctx, in.Changed, &o); err != nil {
		return o, err
	}
	if err := s.selected(ctx, in, &o); err != nil {
		return o, err
	}
	if err := o.Check(s.kinds); err != nil {
		return o, err
	}
	if len(in.Account) == 0 {
		o.Accounts, err = s.Reader.Accounts(ctx)
		return o, err
	}
	for _, ref := range in.Account {
		a, err := s.account(ctx, ref, in.Source)
		if err != nil {
			return o, err
		}
		o.Accounts = append(o.Accounts, a)
	}
	return o, nil
}

// selected reads what documents must be like beside their kind and account.
func (s *exportRoutes) selected(ctx context.Context, in *exportInput, o *export.Options) error {
	if in.Repository+in.Author+in.State+in.Label+in.Deleted == "" || in.Kind == string(export.KindStatistics) {
		return nil
	}
	kind, err := s.lists.table(in.Kind)
	if err != nil {
		return err
	}
	list := documentsInput{
		Kind: in.Kind, Source: in.Source, Repository: in.Repository, Author: in.Author, State: in.State, Label: in.Label, Deleted: in.Deleted,
		CreatedFrom: in.Since, CreatedUntil: in.Until, Sort: string(document.SortName),
	}
	if len(in.Account) == 1 {
		list.Account = in.Account[0]
	}
	selection, err := s.lists.selection(ctx, kind, &list)
	o.Selected = &selection
	return err
}

// changedSince reads from which position on changes are exported.
func (s *exportRoutes) changedSince(ctx context.Context, text string, o *export.Options) error {
	if text == "" {
		return nil
	}
	after, err := strconv.ParseInt(text, 10, 64)
	if err != nil || after < 0 {
		return domain.Errorf(domain.CodeInvalid, "changed_since is not a position: give the %s of an earlier export, or 0", wire.HeaderPosition)
	}
	if s.Feed == nil || s.Finder == nil {
		return noFeed()
	}
	o.Changed, err = export.SpanSince(ctx, s.Feed, after)
	return err
}

// export streams the rows. An error that comes too late to be told as a
// problem cuts the connection, so that the reader does not take what it has
// for everything.
func (s *exportRoutes) export(ctx context.Context, hctx huma.Context, operation string, o export.Options) {
	_, w := humago.Unwrap(hctx)
	ctx, cancel := s.untilStopping(ctx)
	defer cancel()
	answer := &exportAnswer{w: w, control: http.NewResponseController(w), options: o}
	out := bufio.NewWriterSize(answer, exportHeld)
	rows, err := export.Export(ctx, export.Sources{Documents: s.Documents, Feed: s.Feed, Finder: s.Finder, Lister: s.lists.Lister, Kinds: s.kinds, Statistics: s.Reader, Ranking: s.Statistics}, o, out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		// An export without a single byte is complete as well.
		answer.begin()
		w.Header().Set(wire.TrailerRows, strconv.FormatInt(rows, 10))
		return
	}
	if !answer.begun {
		writeProblem(w, s.problem(ctx, operation, err))
		return
	}
	if ctx.Err() == nil && answer.err == nil {
		s.Log.ErrorContext(ctx, "the export broke off", "kind", o.Kind, "rows", rows, "error", err)
	}
	panic(http.ErrAbortHandler)
}

// exportAnswer begins to answer with the first piece.
type exportAnswer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	options export.Options
	begun   bool
	// err is why the reader could not be reached.
	err error
}

func (a *exportAnswer) begin() {
	if a.begun {
		return
	}
	a.begun = true
	h := a.w.Header()
	h.Set("Content-Type", a.options.Format.MediaType())
	h.Set("Content-Disposition", `attachment; filename="`+string(a.options.Kind)+`.`+string(a.options.Format)+`"`)
	h.Set("Trailer", wire.TrailerRows)
	if a.options.Changed != nil {
		h.Set(wire.HeaderPosition, strconv.FormatInt(a.options.Changed.Until, 10))
	}
	// Proxies hold answers back unless told not to.
	h.Set("X-Accel-Buffering", "no")
	a.w.WriteHeader(http.StatusOK)
}

// Write implements io.Writer.
func (a *exportAnswer) Write(p []byte) (int, error) {
	a.begin()
	// An export outlives the server's limit on answering, so every piece has
	// its own. Where deadlines cannot be set there are none to outlive.
	_ = a.control.SetWriteDeadline(time.Now().Add(exportPatience))
	n, err := a.w.Write(p)
	a.err = err
	return n, err
}
