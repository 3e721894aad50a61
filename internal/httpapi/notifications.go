package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/notify"
)

// Notifications tells people what happened; *notify.Service is one.
type Notifications interface {
	Messages(ctx context.Context, q notify.Query) ([]notify.Message, error)
	Retry(ctx context.Context, id string) (notify.Message, error)
	SendTest(ctx context.Context, target string) ([]notify.Tested, error)
}

// notificationRoutes serve what people are told.
type notificationRoutes struct {
	*common
	Notifications Notifications
}

func (s *notificationRoutes) registerNotifications(api huma.API) {
	const tag = "notifications"
	register(s, api, operation{id: "list-notifications", method: http.MethodGet, path: "/api/v1/notifications", tag: tag,
		summary: "List what people were and will be told, newest first", errors: []int{http.StatusUnprocessableEntity}}, s.list)
	register(s, api, operation{id: "test-notifications", method: http.MethodPost, path: "/api/v1/notifications/test", tag: tag,
		summary: "Send a test message now, to one target or to all", errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity}}, s.test)
	register(s, api, operation{id: "retry-notification", method: http.MethodPost, path: "/api/v1/notifications/{id}/retry", tag: tag,
		summary: "Send a notification again that was given up", errors: []int{http.StatusNotFound, http.StatusConflict}}, s.retry)
}

type listNotificationsInput struct {
	State  string `query:"state" enum:"waiting,sent,dead" doc:"Only those in this state; dead ones were given up"`
	Target string `query:"target" maxLength:"64"`
	Cursor string `query:"cursor" maxLength:"64" doc:"next_cursor of the page before"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (s *notificationRoutes) list(ctx context.Context, in *listNotificationsInput) (*body[wire.NotificationList], error) {
	list := wire.NotificationList{Items: []wire.Notification{}}
	state, err := notify.ParseState(in.State)
	if err == nil {
		err = checkNameCursor(in.Cursor)
	}
	if err != nil || s.Notifications == nil {
		return &body[wire.NotificationList]{list}, err
	}
	messages, err := s.Notifications.Messages(ctx, notify.Query{State: state, Target: in.Target, Before: in.Cursor, Limit: in.Limit})
	for i := range messages {
		list.Items = append(list.Items, wire.NotificationOf(&messages[i]))
	}
	if len(messages) == in.Limit {
		list.NextCursor = messages[in.Limit-1].ID
	}
	return &body[wire.NotificationList]{list}, err
}

func (s *notificationRoutes) retry(ctx context.Context, in *named) (*body[wire.Notification], error) {
	if s.Notifications == nil {
		return nil, notify.Missing(in.ID)
	}
	m, err := s.Notifications.Retry(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &body[wire.Notification]{wire.NotificationOf(&m)}, nil
}

func (s *notificationRoutes) test(ctx context.Context, in *body[wire.NotificationTest]) (*body[wire.NotificationTested], error) {
	if s.Notifications == nil {
		return nil, domain.Errorf(domain.CodeInvalid, "this service tells nobody of anything")
	}
	done, err := s.Notifications.SendTest(ctx, in.Body.Target)
	if err != nil {
		return nil, err
	}
	out := wire.NotificationTested{Targets: []wire.TestedTarget{}}
	for _, t := range done {
		out.Targets = append(out.Targets, wire.TestedTarget{Target: t.Target, Type: t.Type, OK: t.OK, Status: t.Status, Error: t.Error})
	}
	return &body[wire.NotificationTested]{out}, nil
}
