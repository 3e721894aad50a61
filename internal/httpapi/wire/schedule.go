package wire

import (
	"encoding/json"

	"sluice/internal/domain"
	"sluice/internal/schedule"
)

// Schedule is how an account is collected again, and when next.
type Schedule struct {
	AccountID int64  `json:"account_id"`
	Login     string `json:"login"`
	// Policy is the account's own; what it leaves out is as for all accounts.
	Policy Policy `json:"policy"`
	// Next is absent while nothing is planned: a run is under way, or the
	// account is not collected by itself.
	Next *domain.Harvest `json:"next,omitempty"`
}

// Policy is a schedule.Policy as people write it.
type Policy struct {
	Off          *bool  `json:"off,omitempty" doc:"Collect it only on request"`
	Every        string `json:"every,omitempty" maxLength:"50" doc:"Time from the start of one run to the next, such as 6h"`
	Cron         string `json:"cron,omitempty" maxLength:"200" doc:"Minute, hour, day, month and weekday, such as 0 3 * * *"`
	Zone         string `json:"zone,omitempty" maxLength:"100" doc:"The time zone of cron and quiet, such as Asia/Seoul"`
	Quiet        string `json:"quiet,omitempty" maxLength:"100" doc:"Hours in which no run begins, such as 22:00-06:00"`
	AfterSuccess string `json:"after_success,omitempty" maxLength:"50" doc:"The next run starts this long after the quota resets; 5m unless given"`
	AfterFailure string `json:"after_failure,omitempty" maxLength:"50" doc:"Failed jobs are retried this long after the run ended; 30m unless given"`
	AfterQuota   string `json:"after_quota,omitempty" maxLength:"50" doc:"A run that waits for quota resumes this long after the reset; 0s unless given"`
	Spread       string `json:"spread,omitempty" maxLength:"50" doc:"Starts are spread over at most this time; 10m unless given"`
}

// PolicyOf shows a policy.
func PolicyOf(p schedule.Policy) Policy {
	// Both have the same names, and texts where the other has types.
	text, _ := json.Marshal(p)
	var out Policy
	_ = json.Unmarshal(text, &out)
	return out
}

// Parse checks what people wrote.
func (p Policy) Parse() (schedule.Policy, error) {
	// Texts and a bool: this cannot fail.
	text, _ := json.Marshal(p)
	return schedule.Parse(text)
}

// PriorityRequest gives a run another priority.
type PriorityRequest struct {
	Priority string `json:"priority" enum:"HIGH,LOW"`
}

// HookAnswer lists the runs that a webhook began, or found under way.
type HookAnswer struct {
	Runs []domain.Run `json:"runs" nullable:"false"`
}
