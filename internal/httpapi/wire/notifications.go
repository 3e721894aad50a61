package wire

import (
	"time"

	"sluice/internal/notify"
)

// NotificationList is a page of what people are told.
type NotificationList = List[Notification]

// Notification is one message to one target.
type Notification struct {
	ID     string      `json:"id"`
	Target string      `json:"target"`
	Kind   notify.Kind `json:"kind"`
	State  string      `json:"state" enum:"waiting,sent,dead"`
	Title  string      `json:"title"`
	// Events counts what it tells; Lines are the first of them.
	Events    int64     `json:"events"`
	Lines     []string  `json:"lines" nullable:"false"`
	CreatedAt time.Time `json:"created_at"`
	// Due is when it is sent, or tried again.
	Due     time.Time `json:"due,omitzero"`
	EndedAt time.Time `json:"ended_at,omitzero"`
	Tries   int       `json:"tries"`
	Error   string    `json:"error,omitempty"`
}

// NotificationOf is a message as it is shown.
func NotificationOf(m *notify.Message) Notification {
	return Notification{
		ID: m.ID, Target: m.Target, Kind: m.Kind, State: m.State.String(), Title: m.Title(), Events: m.Count, Lines: m.Lines(),
		CreatedAt: m.CreatedAt, Due: m.Due, EndedAt: m.EndedAt, Tries: m.Tries, Error: m.Error,
	}
}

// NotificationTest asks for a test message.
type NotificationTest struct {
	Target string `json:"target,omitempty" maxLength:"64" doc:"The name of a target; all of them if there is none"`
}

// NotificationTested is what became of test messages.
type NotificationTested struct {
	Targets []TestedTarget `json:"targets" nullable:"false"`
}

// TestedTarget is what became of one.
type TestedTarget struct {
	Target string `json:"target"`
	Type   string `json:"type"`
	OK     bool   `json:"ok"`
	// Status is that of the receiver's answer; 0 if there was none.
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
}
