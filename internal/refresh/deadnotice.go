package refresh

import (
	"context"
	"encoding/json"
	"time"
)

// deadNotice is a dead letter as those see it who follow the topic.
type deadNotice struct {
	// OriginalEvent is as it was published; a text if it is no JSON.
	OriginalEvent any `json:"originalEvent"`
	// FailureReason is a class of failures, Code the failure itself.
	FailureReason string    `json:"failureReason"`
	Code          string    `json:"code"`
	ErrorMessage  string    `json:"errorMessage"`
	RetryCount    int       `json:"retryCount"`
	FailedAt      time.Time `json:"failedAt"`
	WorkerID      string    `json:"workerId"`
}

// failureReason is the class of a failure.
func failureReason(l *DeadLetter) string {
	switch {
	case l.HTTPStatus >= 500:
		return "NEXON_API_5XX"
	case l.HTTPStatus >= 400:
		return "NEXON_API_4XX"
	case l.HTTPStatus > 0:
		return "PARSE_ERROR"
	}
	return l.Why
}

// announceDead publishes a dead letter.
func (c *consumer) announceDead(ctx context.Context, t *task, letter *DeadLetter) error {
	notice := deadNotice{
		OriginalEvent: string(t.record.Value), FailureReason: failureReason(letter), Code: letter.Why, ErrorMessage: letter.Error,
		RetryCount: letter.Tries, FailedAt: letter.FailedAt, WorkerID: letter.WorkerID,
	}
	if json.Valid(t.record.Value) {
		notice.OriginalEvent = json.RawMessage(t.record.Value)
	}
	text, err := json.Marshal(notice)
	if err != nil {
		return err
	}
	return c.Log.Publish(ctx, TopicDead, Message{Key: t.event.String(), Value: text})
}
