package logs

import "log/slog"

// Event is one thing that is logged. Those who follow or count log lines go by its
// name, which stays, while the words for people may be mended. All of them stand
// here; docs/logs.md is made from this table, and a test compares it with what the
// code logs.
type Event struct {
	// Name is what the attribute "event" says.
	Name  string
	Level slog.Level
	// Text is the message, by which the line is recognised.
	Text string
	// Tells says what the line is about and what its attributes are.
	Tells string
	// Document says where a requirement asks for it; "" where none does.
	Document string
}

const (
	debug  = slog.LevelDebug
	info   = slog.LevelInfo
	warn   = slog.LevelWarn
	failed = slog.LevelError
)

// Events are all of them, in the order of what they are about.
func Events() []Event { return events }

var events = []Event{
	{"request.served", info, "request", "a request to the API was answered: method, path, status, took (probes and metrics are logged at level debug)", ""},
	{"request.failed", failed, "a request failed", "something of our own broke while a request was served", ""},
	{"request.panicked", failed, "a handler panicked", "a mistake in the program; with its stack", ""},

	{"run.started", info, "a run has started", "a collection began: run, account, login, trigger, jobs", ""},
	{"run.ended", info, "run ended", "a run ended, however: run, login, status, succeeded_jobs, failed_jobs, calls, took", "000 §9.5, run completed"},
	{"run.planned", info, "the next run of an account is planned", "when an account is collected next, and why: at, priority, reason", ""},
	{"run.plan_delayed", failed, "a run could not be planned, as the store is unavailable; trying again", "a run waits for the store", ""},
	{"account.paused", failed, "an account was paused: its credential cannot be used", "the key does not open the account's credential, or it was given for another host than its source says now", ""},
	{"account.lender_paused", warn, "an account was paused: its lent credential is not accepted", "a credential was refused that was lent to another account", ""},

	{"job.completed", debug, "a job has succeeded", "one call was made and its result is stored: run, job, type, attempt, items, took", "000 §9.5, job completed"},
	{"job.failed", warn, "a call has failed", "what a call failed with and what becomes of the job: kind, reason, next, not_before", ""},
	{"job.rate_limited", info, "a job waits for its quota", "a job was put off until its owner's quota allows it: owner, reason, wait", "000 §9.5, rescheduled for rate limit"},
	{"job.recovered", warn, "a job was taken over from a worker that vanished", "its worker was silent for longer than a lease: attempt, lost", "000 §9.5, recovered stuck job"},
	{"job.promoted", debug, "a delayed job is due", "a job that waited for an instant is begun: not_before, late", "000 §9.5, promoted from delayed"},
	{"job.result_late", info, "a result came too late and was dropped", "another worker has the job", ""},
	{"job.result_refused", failed, "the store refuses a result; the job fails", "the store will never take the result of a call", ""},
	{"call.answered", debug, "an upstream call was answered", "the answer to one call: job, type, verdict, took", ""},

	{"statistics.failed", warn, "the statistics of a run failed; trying again", "computing statistics failed and is tried again: run, in, error", "000 §9.5, statistics failed, queued for retry"},
	{"statistics.given_up", failed, "the statistics of a run are given up; `sluice run resume` computes them again", "computing statistics failed too often", ""},

	{"scheduler.sleeping", debug, "the scheduler sleeps until something is due", "nothing is to be done before an instant: until", "000 §9.5, scheduler sleeping"},
	{"scheduler.lead_changed", info, "the leading scheduler changed", "this process leads now, or does not any more", ""},
	{"dispatch.rebuilt", warn, "dispatch was empty and is filled again", "what Redis had lost was made known to it again", ""},
	{"dispatch.resumed", info, "work that was left undone goes on", "what a start has found and goes on with", ""},
	{"store.waiting", warn, "the store does not take a result; trying again", "a result that was paid for waits for the store", ""},
	{"sink.waiting", warn, "a sink waits and tries again", "the target of a sink fails: sink, in, error", ""},
	{"sink.anew", warn, "changes that the sink has not seen are kept no longer; it copies everything anew", "the feed of changes is kept for a time, and the sink was away for longer: sink, position", ""},
	{"columns.filling", info, "filling in columns that are new", "documents of an earlier version get the values of columns that were declared since: seen, filled", ""},
	{"columns.filled", info, "columns that are new are filled in", "all of them have: seen, filled", ""},
	{"columns.delayed", warn, "columns that are new cannot be filled in; trying again", "the store fails; it goes on where it was: error, in", ""},
	{"engine.stopped", failed, "the engine stops", "the store cannot be trusted any more", ""},

	{"refresh.requested", info, "a refresh was requested", "somebody asked for records to be refreshed: source, keys, priority", ""},
	{"refresh.backed_off", warn, "the upstream asked to back off", "an upstream wants to be left alone: source, for", ""},
	{"refresh.dead_letter", warn, "a refresh was given up", "a refresh failed for good and is kept for a person: entity, why", ""},
	{"refresh.waiting_for_store", warn, "refreshes wait for the store", "results wait for the store, and nothing new is taken", ""},
	{"refresh.log_lost", warn, "the log has lost what it had, or is another one: accepted refreshes are published again", "what was accepted is published again", ""},
	{"breaker.changed", warn, "a breaker changed its state", "a part is left alone, or is used again: part, state", ""},

	{"timer.late", warn, "a timer fired late", "a timer fired later than it may: timer, due, lateness", ""},
	{"timer.not_delivered", warn, "a timer was not delivered; trying again", "a webhook was not taken: timer, tries, at", ""},
	{"timer.given_up", failed, "the delivery of a timer was given up", "a webhook was never taken: timer, tries", ""},
	{"timer.missed_found", warn, "missed timers were found", "timers that nobody had fired were fired now: found, fired", ""},

	{"archive.done", info, "old values were archived", "values left the store for the archive: values, files, bytes", ""},
	{"archive.failed", failed, "archiving failed; trying again", "values stay in the store for now", ""},

	{"notification.sent", info, "a notification was sent", "somebody was told: notification, target, kind, events", ""},
	{"notification.not_taken", warn, "a notification was not taken; trying again", "a target does not take a message: notification, target, at, error", ""},
	{"notification.given_up", failed, "a notification was given up; `sluice notify retry` sends it again", "a target never took a message", ""},
}

var eventNames = eventsByText()

func eventsByText() map[string]string {
	names := make(map[string]string, len(events))
	for _, e := range events {
		names[e.Text] = e.Name
	}
	return names
}

// EventName is the name of what a message tells; "" if it has none.
func EventName(message string) string { return eventNames[message] }
