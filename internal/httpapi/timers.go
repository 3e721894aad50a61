package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/access"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/timer"
)

// Timers sets timers and tells about them; *timer.Service is one.
type Timers interface {
	TimerKeeper
	CompletionLog
}

// TimerKeeper sets, moves and cancels timers.
type TimerKeeper interface {
	Set(ctx context.Context, specs ...timer.Spec) ([]timer.Stored, error)
	Timer(ctx context.Context, id string) (timer.Timer, error)
	Timers(ctx context.Context, q timer.Query) ([]timer.Timer, error)
	Cancel(ctx context.Context, id string) (timer.Timer, error)
	Reschedule(ctx context.Context, id string, at time.Time) (timer.Timer, error)
	Redeliver(ctx context.Context, id string) (timer.Timer, error)
	DetectMissed(ctx context.Context) (timer.Missed, error)
}

// CompletionLog tells of the timers that have fired.
type CompletionLog interface {
	Completions(ctx context.Context, from time.Time, afterID string, limit int) ([]timer.Completion, error)
	// Follow and its positions are never behind because a log is.
	Follow(ctx context.Context, after int64, limit int) ([]timer.Completion, error)
	Position(ctx context.Context, from time.Time) (int64, error)
	Newest(ctx context.Context) (int64, error)
	Stats(ctx context.Context, from time.Time) (timer.Stats, error)
	Watch() (changed <-chan struct{}, end func())
}

// timerRoutes serve timers and their completions.
type timerRoutes struct {
	*common
	Timers Timers
}

func (s *timerRoutes) registerTimers(api huma.API) {
	const tag = "timers"
	register(s, api, operation{id: "set-timer", method: http.MethodPost, path: "/api/v1/timers", tag: tag,
		summary: "Set a timer; repeating it with the same content changes nothing", status: http.StatusCreated,
		errors: []int{http.StatusConflict, http.StatusUnprocessableEntity}}, s.setTimer)
	register(s, api, operation{id: "list-timers", method: http.MethodGet, path: "/api/v1/timers", tag: tag,
		summary: "List timers in the order of their ids", errors: []int{http.StatusUnprocessableEntity}}, s.listTimers)
	register(s, api, operation{id: "get-timer", method: http.MethodGet, path: "/api/v1/timers/{id}", tag: tag,
		summary: "Show a timer", errors: []int{http.StatusNotFound}}, s.getTimer)
	register(s, api, operation{id: "cancel-timer", method: http.MethodDelete, path: "/api/v1/timers/{id}", tag: tag,
		summary: "Cancel a timer", errors: []int{http.StatusNotFound, http.StatusConflict}}, s.cancelTimer)
	register(s, api, operation{id: "reschedule-timer", method: http.MethodPost, path: "/api/v1/timers/{id}/reschedule", tag: tag,
		summary: "Move a timer that has not fired to another time",
		errors:  []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}}, s.rescheduleTimer)
	register(s, api, operation{id: "redeliver-timer", method: http.MethodPost, path: "/api/v1/timers/{id}/redeliver", tag: tag,
		summary: "Call again the webhook of a timer that was given up", errors: []int{http.StatusNotFound, http.StatusConflict}}, s.redeliverTimer)
	register(s, api, operation{id: "list-completions", method: http.MethodGet, path: "/api/v1/completions", tag: tag,
		summary: "List the timers that have fired, in the order in which they fired", errors: []int{http.StatusUnprocessableEntity}}, s.listCompletions)
	register(s, api, operation{id: "completion-stats", method: http.MethodGet, path: "/api/v1/monitoring/completion-stats", tag: tag,
		summary: "Sum up the timers that have fired"}, s.completionStats)
	register(s, api, operation{id: "detect-missed-timers", method: http.MethodPost, path: "/api/v1/monitoring/detect-missed-timers", tag: tag,
		summary: "Look for timers that should have fired and did not, and fire them"}, s.detectMissed)
	s.registerCompletionEvents(api)
}

// instant reads the two ways to name one: itself, or a while from now.
func instant(at, in string) (t time.Time, d time.Duration, err error) {
	switch {
	case (at == "") == (in == ""):
		return t, 0, domain.Errorf(domain.CodeInvalid, "give either at, such as 2026-12-01T09:00:00+09:00, or in, such as 5m")
	case at != "":
		t, err = time.Parse(time.RFC3339Nano, at)
		if err != nil {
			return t, 0, domain.Errorf(domain.CodeInvalid, "at is not a time: write the date, the time and the zone, such as 2026-12-01T09:00:00+09:00 or 2026-12-01T00:00:00Z")
		}
		return t, 0, nil
	}
	d, err = time.ParseDuration(in)
	if err != nil {
		return t, 0, domain.Errorf(domain.CodeInvalid, "in is not a duration: write hours, minutes and seconds, such as 36h, 5m or 1m30s")
	}
	if d < 0 {
		return t, 0, domain.Errorf(domain.CodeInvalid, "a duration cannot be negative, and %s is; give a time in the past as at", in)
	}
	return time.Now().Add(d), d, nil
}

// setAnswer is 201 for a timer that was set and 200 for one that was there.
type setAnswer struct {
	Status int
	Body   timer.Timer
}

func (s *timerRoutes) setTimer(ctx context.Context, in *body[wire.TimerRequest]) (*setAnswer, error) {
	req := in.Body
	access.About(ctx, req.ID)
	at, after, err := instant(req.At, req.In)
	if err != nil {
		return nil, err
	}
	stored, err := s.Timers.Set(ctx, timer.Spec{ID: req.ID, At: at, In: after, Payload: req.Payload, Webhook: req.Webhook})
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
	Prefix string   `query:"prefix" maxLength:"200" doc:"Only ids with this prefix"`
	Cursor string   `query:"cursor" maxLength:"200" doc:"Where an earlier page ended"`
	After  string   `query:"after" maxLength:"200" deprecated:"true" doc:"Use cursor"`
	Limit  int      `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (s *timerRoutes) listTimers(ctx context.Context, in *listTimersInput) (*body[wire.TimerList], error) {
	q := timer.Query{Prefix: in.Prefix, AfterID: cmp.Or(in.Cursor, in.After), Limit: in.Limit + 1}
	if q.AfterID != "" && timer.CheckID(q.AfterID) != nil {
		return nil, badCursor()
	}
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
	return &body[wire.TimerList]{pageOf(timers, in.Limit, func(t *timer.Timer) string { return t.ID })}, nil
}

// named names a timer in a path.
type named struct {
	ID string `path:"id" maxLength:"200"`
}

func (s *timerRoutes) getTimer(ctx context.Context, in *named) (*body[timer.Timer], error) {
	t, err := s.Timers.Timer(ctx, in.ID)
	return &body[timer.Timer]{t}, err
}

func (s *timerRoutes) cancelTimer(ctx context.Context, in *named) (*body[timer.Timer], error) {
	t, err := s.Timers.Cancel(ctx, in.ID)
	return &body[timer.Timer]{t}, err
}

type rescheduleInput struct {
	ID   string `path:"id" maxLength:"200"`
	Body wire.InstantRequest
}

func (s *timerRoutes) rescheduleTimer(ctx context.Context, in *rescheduleInput) (*body[timer.Timer], error) {
	at, _, err := instant(in.Body.At, in.Body.In)
	if err != nil {
		return nil, err
	}
	t, err := s.Timers.Reschedule(ctx, in.ID, at)
	return &body[timer.Timer]{t}, err
}

func (s *timerRoutes) redeliverTimer(ctx context.Context, in *named) (*body[timer.Timer], error) {
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
	Hours  int    `query:"hours" minimum:"1" maximum:"720" default:"24" doc:"How far to look back"`
	Cursor string `query:"cursor" maxLength:"300" doc:"Where an earlier page ended"`
	After  string `query:"after" maxLength:"300" deprecated:"true" doc:"Use cursor"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (s *timerRoutes) listCompletions(ctx context.Context, in *listCompletionsInput) (*body[wire.CompletionList], error) {
	from, after := period{in.Hours}.from(), ""
	if cursor := cmp.Or(in.Cursor, in.After); cursor != "" {
		var err error
		if from, after, err = parseInstantCursor(cursor); err != nil {
			return nil, err
		}
	}
	found, err := s.Timers.Completions(ctx, from, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	list := pageOf(found, in.Limit, func(c *timer.Completion) string { return instantCursor(c.FiredAt, cmp.Or(c.Record, c.Timer)) })
	return &body[wire.CompletionList]{list}, nil
}

func (s *timerRoutes) completionStats(ctx context.Context, in *period) (*body[wire.CompletionStats], error) {
	stats, err := s.Timers.Stats(ctx, in.from())
	return &body[wire.CompletionStats]{wire.CompletionStatsOf(stats)}, err
}

func (s *timerRoutes) detectMissed(ctx context.Context, _ *struct{}) (*body[timer.Missed], error) {
	missed, err := s.Timers.DetectMissed(ctx)
	return &body[timer.Missed]{missed}, err
}

type completionEventsInput struct {
	After  string `query:"after" maxLength:"300" doc:"Also send those since this event"`
	LastID string `header:"Last-Event-ID" maxLength:"300" doc:"The id of the last event that the reader has, instead of after; a browser sends it when it reconnects"`
}

func (s *timerRoutes) registerCompletionEvents(api huma.API) {
	op := operation{id: "watch-completions", method: http.MethodGet, path: "/api/v1/completions/events", tag: "events",
		summary: "Follow the timers that fire", errors: []int{http.StatusUnprocessableEntity}}.huma()
	op.Responses = eventResponses(api, "snapshot (where the stream begins, at first), completion (a timer's completion, at least once)",
		exampleEvent("42", wire.EventCompletion, "{\"timer\":\"trial-ends:42\",\"status\":\"COMPLETED\"}"),
		map[string]any{wire.EventSnapshot: wire.CompletionsSnapshot{}, wire.EventCompletion: timer.Completion{}})
	huma.Register(api, op, func(ctx context.Context, in *completionEventsInput) (*huma.StreamResponse, error) {
		// A browser repeats the address with its after: the event is newer.
		at, err := s.completionsAfter(ctx, cmp.Or(in.LastID, in.After))
		if err != nil {
			return nil, s.problem(ctx, op.OperationID, err)
		}
		follow := &followCompletions{timerRoutes: s, at: at}
		//nolint:contextcheck // huma's context carries the request's
		return &huma.StreamResponse{Body: func(ctx huma.Context) { s.stream(ctx, op.OperationID, s.Timers.Watch, follow.look) }}, nil
	})
}
