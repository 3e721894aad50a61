package wiring

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/document"
	"sluice/internal/document/backfill"
	"sluice/internal/domain"
	"sluice/internal/record"
	"sluice/internal/source"
)

// Some tables get their columns from the first records that were stored. They are kept
// under the name of the kind, so that every process and every later one has the same,
// and a store that is opened makes room for them: tables, views and exports follow. The
// service that has just collected those records fills them in before it ends.

// columns are what is inferred, and where.
type columns struct {
	// all are the sources that are collected, and sources those that infer.
	all     []source.Source
	sources []source.Inferring
	// reopen makes room for kinds, and reads documents of them.
	reopen func(ctx context.Context, kinds document.Kinds) (document.Reader, error)
	// inferred is told that columns were inferred while the service works, and told says
	// that it was: who opens the service again fills them in.
	inferred func()
	told     bool
	// fixed says that nothing is inferred: the process only looks.
	fixed bool
	// from is the account that is looked at first.
	from int
	log  *slog.Logger
	// fillings are of the store that columns are filled in.
	fillings document.Fillings
}

const (
	// inferredFrom is how many documents columns are inferred from.
	inferredFrom = 100
	// inferEvery is how long after something was collected it is looked whether there are
	// such documents.
	inferEvery = 10 * time.Second
	// mostAccounts is how many accounts are looked at each time.
	mostAccounts = 50
	// settleTime is how long a service fills in at its end. What is left is the next
	// one's.
	settleTime = 30 * time.Second
)

// inferrer is a service as one that infers columns.
type inferrer struct{ *Service }

// openColumns finds out which columns the sources' tables have.
func (s inferrer) openColumns(ctx context.Context, o *Options) error {
	s.columns.all = o.Sources
	for _, src := range o.Sources {
		if one, ok := src.(source.Inferring); ok {
			s.columns.sources = append(s.columns.sources, one)
		}
	}
	s.columns.inferred = o.Inferred
	s.columns.fixed, s.columns.log = o.Look || o.Read, o.Engine.Log
	return s.adoptColumns(ctx, o.Sources)
}

// lacking says whether there are kinds whose columns nobody knows.
func (c *columns) lacking() bool {
	for _, src := range c.sources {
		if len(src.Uninferred()) > 0 {
			return true
		}
	}
	return false
}

// adoptColumns gives sources the columns that are kept.
func (s inferrer) adoptColumns(ctx context.Context, all []source.Source) error {
	taken := map[string]document.Type{}
	for _, src := range all {
		for _, c := range src.Describe().Kinds.Own() {
			taken[c.Name] = c.Type
		}
	}
	for _, src := range s.columns.sources {
		for _, kind := range src.Uninferred() {
			kept, err := s.Records.Get(ctx, record.Columns, string(kind))
			switch {
			case domain.CodeOf(err) == domain.CodeNotFound:
				continue
			case err == nil:
				err = src.Adopt(kind, kept.Value, taken)
			}
			if err != nil {
				return err
			}
			for _, c := range src.Types(kept.Value) {
				if _, met := taken[c.Name]; !met {
					taken[c.Name] = c.Type
				}
			}
		}
	}
	return nil
}

var errEnough = errors.New("enough was seen")

// inferColumns keeps the columns of kinds that have documents and none yet.
func (s inferrer) inferColumns(ctx context.Context) error {
	accounts, err := s.State.Accounts(ctx)
	if err != nil {
		return err
	}
	taken, err := s.takenColumns(ctx)
	if err != nil {
		return err
	}
	for _, src := range s.columns.sources {
		for _, kind := range src.Uninferred() {
			if _, err := s.Records.Get(ctx, record.Columns, string(kind)); domain.CodeOf(err) != domain.CodeNotFound {
				// This process has them when it is opened next.
				continue
			}
			payloads, err := s.firstPayloads(ctx, kind, accounts)
			if err != nil {
				return err
			}
			if err := s.inferKind(ctx, src, kind, payloads, taken); err != nil {
				return err
			}
		}
	}
	return nil
}

// takenColumns are the names of columns that mean something already, and their types:
// declared here, or inferred of whatever source.
func (s inferrer) takenColumns(ctx context.Context) (map[string]document.Type, error) {
	taken := map[string]document.Type{}
	for _, c := range s.Kinds.Own() {
		taken[c.Name] = c.Type
	}
	kept, err := s.Records.List(ctx, record.Columns)
	for i := range kept {
		for _, c := range s.columns.sources[0].Types(kept[i].Value) {
			taken[c.Name] = c.Type
		}
	}
	return taken, err
}

// inferKind infers the columns of a kind, makes room for them and keeps them.
func (s inferrer) inferKind(ctx context.Context, src source.Inferring, kind document.Kind, payloads [][]byte, taken map[string]document.Type) error {
	text := src.Infer(kind, payloads, taken)
	if text == nil {
		return nil
	}
	columns := src.Types(text)
	err := s.makeRoom(ctx, kind, columns)
	if domain.CodeOf(err) == domain.CodeConflict || domain.CodeOf(err) == domain.CodeInvalid {
		// The store has columns of sources that are not here: each goes by its type too.
		elsewhere := map[string]document.Type{}
		for _, c := range columns {
			elsewhere[c.Name] = "other"
		}
		text = src.Infer(kind, payloads, elsewhere)
		columns = src.Types(text)
		err = s.makeRoom(ctx, kind, columns)
	}
	if err != nil {
		return err
	}
	for _, c := range columns {
		taken[c.Name] = c.Type
	}
	return s.keepColumns(ctx, kind, text)
}

// makeRoom makes room in the store for columns of a kind.
func (s inferrer) makeRoom(ctx context.Context, kind document.Kind, columns []document.Column) error {
	kinds := slices.Clone(s.Kinds)
	d := kinds.Of(kind)
	d.Columns = slices.Clone(d.Columns)
	for _, c := range columns {
		c.From, c.Nullable = document.FromOwn, true
		d.Columns = append(d.Columns, c)
	}
	_, err := s.columns.reopen(ctx, kinds)
	return err
}

// firstPayloads are those of documents of a kind, as few as columns are inferred from, of
// whichever account of its source has any.
func (s inferrer) firstPayloads(ctx context.Context, kind document.Kind, accounts []domain.Account) (payloads [][]byte, err error) {
	for looked, i := 0, 0; i < len(accounts) && looked < mostAccounts && len(payloads) < inferredFrom; i++ {
		a := &accounts[(i+s.columns.from)%len(accounts)]
		if a.Source != s.Kinds.Of(kind).Source {
			continue
		}
		looked++
		err = s.Documents.Scan(ctx, document.Query{Account: a.ID, Kind: kind, WithRaw: true}, func(d *document.Document) error {
			if !d.Truncated && !d.Deleted {
				payloads = append(payloads, bytes.Clone(d.Raw))
			}
			if len(payloads) == inferredFrom {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return nil, err
		}
	}
	if len(payloads) == 0 {
		// Others are looked at next time.
		s.columns.from += mostAccounts
	}
	return payloads, nil
}

// keepColumns keeps what was inferred of a kind, unless another process was first: then
// it is as that one says.
func (s inferrer) keepColumns(ctx context.Context, kind document.Kind, text []byte) error {
	if s.Alone != nil {
		release, err := s.Alone(ctx, "columns")
		if err != nil {
			return err
		}
		defer release()
	}
	_, err := s.Records.Get(ctx, record.Columns, string(kind))
	if domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	s.columns.log.Info("the columns of a table were inferred from its first records, and are fixed now", "table", kind)
	return s.Records.Put(ctx, record.Record{Kind: record.Columns, Name: string(kind), Value: text, Changed: time.Now().UTC()})
}

// watchColumns infers columns while the service works, soon after there are records, and
// has it opened again: then its tables have them. Where nobody does that, they have them
// when it is opened next.
func (s inferrer) watchColumns(ctx context.Context) error {
	changed, end := s.Engine.Watch()
	defer end()
	// While nothing is collected there is nothing to look at.
	for next(ctx, changed) && backoff.Sleep(ctx, inferEvery) {
		if s.columns.lacking() {
			if err := s.inferColumns(ctx); err != nil && ctx.Err() == nil {
				s.columns.log.Warn("columns cannot be inferred; trying again", "error", err, "in", inferEvery)
			}
		}
		s.keepMisfits(ctx)
		if s.columns.inferred != nil && s.columnsWait(ctx) {
			s.columns.told = true
			s.columns.inferred()
			return nil
		}
	}
	return ctx.Err()
}

// columnsWait says whether columns are kept that this service does not have.
func (s inferrer) columnsWait(ctx context.Context) bool {
	for _, src := range s.columns.sources {
		for _, kind := range src.Uninferred() {
			if _, err := s.Records.Get(ctx, record.Columns, string(kind)); err == nil {
				return true
			}
		}
	}
	return false
}

// next waits until something has changed.
func next(ctx context.Context, changed <-chan struct{}) bool {
	select {
	case <-changed:
		return true
	case <-ctx.Done():
		return false
	}
}

// keepMisfits notes how many values did not fit the columns that were inferred.
func (s inferrer) keepMisfits(ctx context.Context) {
	for _, src := range s.columns.sources {
		for kind, text := range src.Inferred() {
			kept, err := s.Records.Get(ctx, record.Columns, string(kind))
			if err != nil || bytes.Equal(kept.Value, text) {
				continue
			}
			kept.Value, kept.Changed = text, time.Now().UTC()
			if err := s.Records.Put(ctx, kept); err != nil && ctx.Err() == nil {
				s.columns.log.Warn("it cannot be noted how many values do not fit their columns", "table", kind, "error", err)
			}
		}
	}
}

// settle infers at the end of a service what can be inferred from what it has stored,
// makes room for it and fills it in.
func (c *columns) settle(ctx context.Context, s *Service) {
	if c.fixed || c.told || len(c.sources) == 0 || s.Records == nil || s.State == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	inferrer{s}.keepMisfits(ctx)
	if !c.lacking() {
		return
	}
	if err := c.settled(ctx, s); err != nil {
		c.log.Warn("the columns that were inferred are filled in when the service is opened next", "error", err)
	}
}

func (c *columns) settled(ctx context.Context, s *Service) error {
	if err := (inferrer{s}).inferColumns(ctx); err != nil {
		return err
	}
	before := s.Kinds.Signature()
	if err := (inferrer{s}).adoptColumns(ctx, c.all); err != nil {
		return err
	}
	var kinds document.Kinds
	for _, src := range c.all {
		kinds = append(kinds, src.Describe().Kinds...)
	}
	if kinds.Signature() == before || kinds.Check() != nil {
		return kinds.Check()
	}
	documents, err := c.reopen(ctx, kinds)
	if err != nil {
		return err
	}
	store, ok := documents.(backfill.Store)
	if !ok || c.fillings == nil {
		return nil
	}
	return (&backfill.Backfill{Store: store, Fillings: c.fillings, Kinds: kinds, Log: c.log}).Walk(ctx)
}
