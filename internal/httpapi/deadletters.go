package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
)

// deadLetterRoutes serve what failed for good: requests to refresh, and statistics
// of runs that were given up.
type deadLetterRoutes struct {
	*common
	// Refreshes is nil where no snapshots are kept.
	Refreshes DeadLetters
	Lists     ListReader
	Reader    RunReader
	// Orchestrator resumes runs that only lack their statistics.
	Orchestrator Scheduler
}

func (s *deadLetterRoutes) registerDeadLetters(api huma.API) {
	const tag = "dlq"
	register(s, api, operation{id: "list-dead-letters", method: http.MethodGet, path: "/api/v1/dlq", tag: tag,
		summary: "List what failed for good, newest first, with counts by cause", errors: []int{http.StatusUnprocessableEntity}}, s.listDeadLetters)
	register(s, api, operation{id: "get-dead-letter", method: http.MethodGet, path: "/api/v1/dlq/{id}", tag: tag,
		summary: "Show a dead letter", errors: []int{http.StatusNotFound}}, s.getDeadLetter)
	register(s, api, operation{id: "redrive", method: http.MethodPost, path: "/api/v1/dlq/redrive", tag: tag,
		summary: "Publish the requests of dead letters again, or compute the statistics once more",
		errors:  []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}}, s.redrive)
	register(s, api, operation{id: "discard", method: http.MethodPost, path: "/api/v1/dlq/discard", tag: tag,
		summary: "Discard dead letters of refreshes", errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity}}, s.discard)
}

type listDeadLettersInput struct {
	Kind     string    `query:"kind" enum:"refresh,statistics" doc:"Only of this kind"`
	Why      string    `query:"why" maxLength:"100" doc:"Only with this cause, such as OPENAPI00004 or STATISTICS"`
	Source   string    `query:"source" maxLength:"50"`
	Key      string    `query:"key" maxLength:"300" doc:"Only of this entity"`
	Cursor   string    `query:"cursor" maxLength:"400" doc:"Where an earlier page ended"`
	Before   time.Time `query:"before" deprecated:"true" doc:"Use cursor"`
	BeforeID string    `query:"before_id" maxLength:"100" deprecated:"true" doc:"Use cursor"`
	Limit    int       `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

// mostStatistics is how many runs without statistics are looked at: they are rare.
const mostStatistics = 1000

func (s *deadLetterRoutes) listDeadLetters(ctx context.Context, in *listDeadLettersInput) (*body[wire.DeadLetterList], error) {
	before, beforeID := in.Before, in.BeforeID
	if in.Cursor != "" {
		var err error
		if before, beforeID, err = parseInstantCursor(in.Cursor); err != nil {
			return nil, err
		}
	}
	list := wire.DeadLetterList{Counts: map[string]int64{}}
	var letters []wire.Letter
	if s.Refreshes != nil {
		counts, err := s.Refreshes.DeadLetterCounts(ctx)
		if err != nil {
			return nil, err
		}
		list.Counts = counts
	}
	if s.Refreshes != nil && in.Kind != wire.LetterStatistics {
		found, err := s.Refreshes.DeadLetterList(ctx, refresh.DeadLetterQuery{
			Why: in.Why, Source: in.Source, Key: in.Key, Before: before, BeforeID: beforeID, Limit: in.Limit + 1,
		})
		if err != nil {
			return nil, err
		}
		for _, l := range found {
			letters = append(letters, wire.LetterOf(l))
		}
	}
	runs, err := s.Lists.WithoutStatistics(ctx, mostStatistics)
	if err != nil {
		return nil, err
	}
	if len(runs) > 0 {
		list.Counts[wire.StatisticsWhy] = int64(len(runs))
	}
	for _, run := range runs {
		if l := statisticsLetter(run); in.wants(&l) && (before.IsZero() || newer(before, beforeID, l.Failed, l.ID)) {
			letters = append(letters, l)
		}
	}
	list.List = newestLetters(letters, in.Limit)
	return &body[wire.DeadLetterList]{list}, nil
}

// wants reports whether statistics that were given up are asked for.
func (in *listDeadLettersInput) wants(l *wire.Letter) bool {
	return in.Kind != wire.LetterRefresh && in.Key == "" && (in.Why == "" || in.Why == l.Why) && (in.Source == "" || in.Source == l.Source)
}

// newer reports whether a letter comes before another in the list.
func newer(at time.Time, id string, than time.Time, thanID string) bool {
	return at.After(than) || at.Equal(than) && id > thanID
}

func newestLetters(letters []wire.Letter, limit int) wire.List[wire.Letter] {
	slices.SortFunc(letters, func(a, b wire.Letter) int { return cmp.Or(b.Failed.Compare(a.Failed), cmp.Compare(b.ID, a.ID)) })
	return pageOf(letters, limit, func(l *wire.Letter) string { return instantCursor(l.Failed, l.ID) })
}

// statisticsPrefix begins the ids of statistics that were given up; their run
// follows.
const statisticsPrefix = "statistics-"

func statisticsLetter(run domain.Run) wire.Letter {
	return wire.Letter{
		ID: statisticsPrefix + strconv.FormatInt(run.ID, 10), Kind: wire.LetterStatistics, Why: wire.StatisticsWhy,
		Error: strings.TrimPrefix(run.Reason, domain.NoStatistics), Source: run.Source, Failed: run.FinishedAt,
		AccountID: run.AccountID, Login: run.Login, RunID: run.ID,
	}
}

// runWithoutStatistics is the run that a letter is about; false if the letter is
// about something else.
func runWithoutStatistics(id string) (int64, bool) {
	text, ok := strings.CutPrefix(id, statisticsPrefix)
	run, err := strconv.ParseInt(text, 10, 64)
	return run, ok && err == nil && run > 0
}

// lacking finds the run of a letter that still lacks its statistics.
func (s *deadLetterRoutes) lacking(ctx context.Context, id string, run int64) (domain.Run, error) {
	r, err := s.Reader.Run(ctx, run)
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && !r.LacksStatistics() {
		err = noSuchLetter(id)
	}
	return r, err
}

func noSuchLetter(id string) error {
	return domain.Errorf(domain.CodeNotFound, "there is no dead letter %s", id)
}

func (s *deadLetterRoutes) getDeadLetter(ctx context.Context, in *named) (*body[wire.Letter], error) {
	if id, ok := runWithoutStatistics(in.ID); ok {
		run, err := s.lacking(ctx, in.ID, id)
		return &body[wire.Letter]{statisticsLetter(run)}, err
	}
	if s.Refreshes == nil {
		return nil, noSuchLetter(in.ID)
	}
	whole, err := s.Refreshes.DeadLetter(ctx, in.ID)
	letter := wire.LetterOf(whole)
	letter.Refresh = &whole
	return &body[wire.Letter]{letter}, err
}

func (s *deadLetterRoutes) redrive(ctx context.Context, in *body[wire.LettersRequest]) (*body[wire.LettersAnswer], error) {
	if (len(in.Body.IDs) == 0) == (in.Body.Why == "") {
		return nil, domain.Errorf(domain.CodeInvalid, "name dead letters by ids, or all of one cause by why")
	}
	n, err := s.redriveSome(ctx, in.Body)
	return &body[wire.LettersAnswer]{wire.LettersAnswer{Letters: n}}, err
}

func (s *deadLetterRoutes) redriveSome(ctx context.Context, req wire.LettersRequest) (int, error) {
	if req.Why == wire.StatisticsWhy {
		runs, err := s.Lists.WithoutStatistics(ctx, mostStatistics)
		if err != nil {
			return 0, err
		}
		return s.computeAgain(ctx, runs)
	}
	var runs []domain.Run
	var rest []string
	for _, id := range req.IDs {
		run, ok := runWithoutStatistics(id)
		if !ok {
			rest = append(rest, id)
			continue
		}
		r, err := s.lacking(ctx, id, run)
		if err != nil {
			return 0, err
		}
		runs = append(runs, r)
	}
	n, err := s.computeAgain(ctx, runs)
	if err != nil || len(rest) == 0 && req.Why == "" {
		return n, err
	}
	if s.Refreshes == nil {
		return n, domain.Errorf(domain.CodeNotFound, "this service keeps no snapshots: there are no dead letters of refreshes")
	}
	var more int
	if req.Why != "" {
		more, err = s.Refreshes.RedriveWhy(ctx, req.Why)
	} else {
		more, err = s.Refreshes.Redrive(ctx, rest...)
	}
	return n + more, err
}

// computeAgain has the statistics of runs computed once more. An account that has
// another active run gets them with that.
func (s *deadLetterRoutes) computeAgain(ctx context.Context, runs []domain.Run) (n int, err error) {
	for _, run := range runs {
		if _, err := s.Orchestrator.ResumeRun(ctx, run.ID, run.Priority); err != nil {
			if domain.CodeOf(err) == domain.CodeConflict && len(runs) > 1 {
				continue
			}
			return n, err
		}
		n++
	}
	return n, nil
}

func (s *deadLetterRoutes) discard(ctx context.Context, in *body[wire.LettersRequest]) (*body[wire.LettersAnswer], error) {
	if len(in.Body.IDs) == 0 || in.Body.Why != "" {
		return nil, domain.Errorf(domain.CodeInvalid, "name the dead letters to discard by ids")
	}
	for _, id := range in.Body.IDs {
		if _, ok := runWithoutStatistics(id); ok {
			return nil, domain.Errorf(domain.CodeInvalid, "%s cannot be discarded: redrive it, or start another run of its account, which computes them anew", id)
		}
	}
	if s.Refreshes == nil {
		return nil, noSuchLetter(in.Body.IDs[0])
	}
	n, err := s.Refreshes.Discard(ctx, in.Body.IDs...)
	return &body[wire.LettersAnswer]{wire.LettersAnswer{Letters: n}}, err
}
