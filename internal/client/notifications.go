package client

import (
	"context"
	"net/http"
	"net/url"

	"sluice/internal/httpapi/wire"
)

// NotificationQuery selects notifications; zero fields do not restrict.
type NotificationQuery struct {
	State, Target string
	Page
}

// Notifications lists what people were and will be told.
func (c operatorCalls) Notifications(ctx context.Context, q NotificationQuery) (wire.NotificationList, error) {
	query := q.values()
	add(query, "state", q.State)
	add(query, "target", q.Target)
	return getList[wire.NotificationList](ctx, c.transport, "/notifications", query)
}

// TestNotifications sends a test message to a target, or to all for "".
func (c operatorCalls) TestNotifications(ctx context.Context, target string) (wire.NotificationTested, error) {
	var out wire.NotificationTested
	err := c.call(ctx, http.MethodPost, api+"/notifications/test", nil, wire.NotificationTest{Target: target}, &out)
	return out, err
}

// RetryNotification has a notification sent again that was given up.
func (c operatorCalls) RetryNotification(ctx context.Context, id string) (wire.Notification, error) {
	var out wire.Notification
	err := c.call(ctx, http.MethodPost, api+"/notifications/"+url.PathEscape(id)+"/retry", nil, nil, &out)
	return out, err
}
