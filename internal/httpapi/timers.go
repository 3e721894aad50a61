package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/timer"
)

// Timers sets timers and tells about them; *timer.Service is one.
type Timers interface {
	Set(ctx context.Context, specs ...timer.Spec) ([]timer.Stored, error)
	Timer(ctx context.Context, id string) (timer.Timer, error)
	Timers(ctx context.Context, q timer.Query) ([]timer.Timer, error)
	Cancel(ctx context.Context, id string) (timer.Timer, error)
	Reschedule(ctx context.Context, id string, at time.Time) (timer.Timer, error)
	Redeliver(ctx context.Context, id string) (timer.Timer, error)
	DetectMissed(ctx context.Context) (timer.Missed, error)
	Completions(ctx context.Context, from time.Time, afterID string, limit int) ([]timer.Completion, error)
	// Fired is Completions, never behind because a log is.
	Fired(ctx context.Context, from time.Time, afterID string, limit int) ([]timer.Completion, error)
	Stats(ctx context.Context, from time.Time) (timer.Stats, error)
	Watch() (changed <-chan struct{}, end func())
}

func (s *server) registerTimers(api huma.API) {
	const tag = "timers"
	register(s, api, operation{id: "set-timer", method: http.MethodPost, path: "/api/v1/timers", tag: tag,
		summary: "Set a timer; repeating it with the same content changes nothing", status: http.StatusCreated,
		errors: []int{http.StatusConflict, http.StatusUnprocessableEntity}}, s.setTimer)
	register(s, api, operation{id: "list-timers", method: http.MethodGet, path: "/api/v1/timers", tag: tag,
		summary: "List timers in the order of their ids", errors: []int{http.StatusUnprocessableEntity}}, s.listTimers)
	register(s, api, operation{id: "get-timer", method: http.MethodGet, path: "/api/v1/timers/{id}", tag: tag,
		summary: "Show a timer", errors: []int{http.StatusNotFound}}, s.getTimer)
	register(s, api, operation{id: "cancel-timer", method: http.MethodDelete, path: "/api/v1/timers/{id}", tag: tag,
		summary: "Keep a timer from firing", errors: []int{http.StatusNotFound, http.StatusConflict}}, s.cancelTimer)
	register(s, api, operation{id: "reschedule-timer", method: http.MethodPost, path: "/api/v1/timers/{id}/reschedule", tag: tag,
		summary: "Give a timer that has not fired another instant",
		errors:  []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}}, s.rescheduleTimer)
	register(s, api, operation{id: "redeliver-timer", method: http.MethodPost, path: "/api/v1/timers/{id}/redeliver", tag: tag,
		summary: "Call the webhook of a timer that was given up again", errors: []int{http.StatusNotFound, http.StatusConflict}}, s.redeliverTimer)
	register(s, api, operation{id: "list-completions", method: http.MethodGet, path: "/api/v1/completions", tag: tag,
		summary: "List the timers that have fired, in the order they did", errors: []int{http.StatusUnprocessableEntity}}, s.listCompletions)
	register(s, api, operation{id: "completion-stats", method: http.MethodGet, path: "/api/v1/monitoring/completion-stats", tag: tag,
		summary: "Sum up the timers that have fired"}, s.completionStats)
	register(s, api, operation{id: "detect-missed-timers", method: http.MethodPost, path: "/api/v1/monitoring/detect-missed-timers", tag: tag,
		summary: "Look for timers that should have fired and did not, and fire them"}, s.detectMissed)
	s.registerCompletionEvents(api)
}

// instant reads the two ways to name one.
func (s *server) instant(at, in string) (time.Time, error) {
	switch {
	case (at == "") == (in == ""):
		return time.Time{}, domain.Errorf(domain.CodeInvalid, "give either at, such as 2026-12-01T09:00:00+09:00, or in, such as 5m")
	case at != "":
		t, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			return t, domain.Errorf(domain.CodeInvalid, "%q is no instant: write the date, the time and the zone, such as 2026-12-01T09:00:00+09:00 or 2026-12-01T00:00:00Z", at)
		}
		return t, nil
	}
	d, err := time.ParseDuration(in)
	if err != nil {
		return time.Time{}, domain.Errorf(domain.CodeInvalid, "%q is no while: write hours, minutes and seconds, such as 36h, 5m or 1m30s", in)
	}
	if d < 0 {
		return time.Time{}, domain.Errorf(domain.CodeInvalid, "a while cannot be negative, and %s is; an instant in the past can be given as at", in)
	}
	return time.Now().Add(d), nil
}

// setAnswer is 201 for a timer that was set and 200 for one that was there.
type setAnswer struct {
	Status int
	Body   timer.Timer
}

func (s *server) setTimer(ctx context.Context, in *body[wire.TimerRequest]) (*setAnswer, error) {
	req := in.Body
	at, err := s.instant(req.At, req.In)
	if err != nil {
		return nil, err
	}
	stored, err := s.Timers.Set(ctx, timer.Spec{ID: req.ID, At: at, Payload: req.Payload, Webhook: req.Webhook})
	if err != nil {
		return nil, err
	}
	answer := &setAnswer{http.StatusOK, stored[0].Timer}
	if stored[0].New {
		answer.Status = http.StatusCreated
	}
	return answer, nil
}

type listTimersInput struct {
	Status []string `query:"status" enum:"WAITING,DELIVERING,COMPLETED,DEAD,CANCELED" doc:"Only in these states, separated by commas"`
	Prefix string   `query:"prefix" maxLength:"200" doc:"Only ids that begin like this"`
	After  string   `query:"after" maxLength:"200" doc:"Only ids that come after this one"`
	Limit  int      `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (s *server) listTimers(ctx context.Context, in *listTimersInput) (*body[wire.TimerList], error) {
	q := timer.Query{Prefix: in.Prefix, AfterID: in.After, Limit: in.Limit + 1}
	for _, name := range in.Status {
		status, err := timer.ParseStatus(name)
		if err != nil {
			return nil, err
		}
		q.Statuses = append(q.Statuses, status)
	}
	timers, err := s.Timers.Timers(ctx, q)
	if err != nil {
		return nil, err
	}
	list := wire.TimerList{Timers: notNull(timers)}
	if len(timers) > in.Limit {
		list.Timers = timers[:in.Limit]
		list.NextAfter = timers[in.Limit-1].ID
	}
	return &body[wire.TimerList]{list}, nil
}

// named names a timer in a path.
type named struct {
	ID string `path:"id" maxLength:"200"`
}

func (s *server) getTimer(ctx context.Context, in *named) (*body[timer.Timer], error) {
	t, err := s.Timers.Timer(ctx, in.ID)
	return &body[timer.Timer]{t}, err
}

func (s *server) cancelTimer(ctx context.Context, in *named) (*body[timer.Timer], error) {
	t, err := s.Timers.Cancel(ctx, in.ID)
	return &body[timer.Timer]{t}, err
}

type rescheduleInput struct {
	ID   string `path:"id" maxLength:"200"`
	Body wire.InstantRequest
}

func (s *server) rescheduleTimer(ctx context.Context, in *rescheduleInput) (*body[timer.Timer], error) {
	at, err := s.instant(in.Body.At, in.Body.In)
	if err != nil {
		return nil, err
	}
	t, err := s.Timers.Reschedule(ctx, in.ID, at)
	return &body[timer.Timer]{t}, err
}

func (s *server) redeliverTimer(ctx context.Context, in *named) (*body[timer.Timer], error) {
	t, err := s.Timers.Redeliver(ctx, in.ID)
	return &body[timer.Timer]{t}, err
}

// period is how far back completions are looked at.
type period struct {
	Hours int `query:"hours" minimum:"1" maximum:"720" default:"24" doc:"How far to look back"`
}

func (p period) from() time.Time { return time.Now().Add(-time.Duration(p.Hours) * time.Hour) }

// listCompletionsInput has the period's field once more: parameters of embedded
// types that are not exported are not seen.
type listCompletionsInput struct {
	Hours int    `query:"hours" minimum:"1" maximum:"720" default:"24" doc:"How far to look back"`
	After string `query:"after" maxLength:"300" doc:"Where the page before ended"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (s *server) listCompletions(ctx context.Context, in *listCompletionsInput) (*body[wire.CompletionList], error) {
	from, after := period{in.Hours}.from(), ""
	if in.After != "" {
		var err error
		if from, after, err = parseCursor(in.After); err != nil {
			return nil, err
		}
	}
	found, err := s.Timers.Completions(ctx, from, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	list := wire.CompletionList{Completions: notNull(found)}
	if len(found) > in.Limit {
		list.Completions = found[:in.Limit]
		list.Next = cursorOf(found[in.Limit-1])
	}
	return &body[wire.CompletionList]{list}, nil
}

func (s *server) completionStats(ctx context.Context, in *period) (*body[wire.CompletionStats], error) {
	stats, err := s.Timers.Stats(ctx, in.from())
	return &body[wire.CompletionStats]{wire.CompletionStatsOf(stats)}, err
}

func (s *server) detectMissed(ctx context.Context, _ *struct{}) (*body[timer.Missed], error) {
	missed, err := s.Timers.DetectMissed(ctx)
	return &body[timer.Missed]{missed}, err
}

type completionEventsInput struct {
	After  string `query:"after" maxLength:"300" doc:"Also tell of those since this event"`
	LastID string `header:"Last-Event-ID" doc:"As after: what a browser sends when it comes back"`
}

func (s *server) registerCompletionEvents(api huma.API) {
	op := operation{id: "watch-completions", method: http.MethodGet, path: "/api/v1/completions/events", tag: "events",
		summary: "Be told of every timer that fires", errors: []int{http.StatusUnprocessableEntity}}.huma()
	op.Responses = eventResponses("completion (a timer's completion, at least once) and error (a problem, after which the stream ends)")
	huma.Register(api, op, func(ctx context.Context, in *completionEventsInput) (*huma.StreamResponse, error) {
		follow := &followCompletions{server: s, newest: time.Now().Truncate(time.Microsecond), sent: map[string]time.Time{}}
		if after := cmp.Or(in.After, in.LastID); after != "" {
			from, _, err := parseCursor(after)
			if err != nil {
				return nil, s.problem(ctx, op.OperationID, err)
			}
			follow.newest = from
		}
		//nolint:contextcheck // huma's context carries the request's
		return &huma.StreamResponse{Body: func(ctx huma.Context) { s.stream(ctx, op.OperationID, follow.watch, follow.look) }}, nil
	})
}
