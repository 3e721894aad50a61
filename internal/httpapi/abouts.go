package httpapi

// abouts say of operations what their summaries leave open. One that is not here
// is described by its summary alone.
var abouts = map[string]string{
	"signup": "The credential is stored encrypted and never shown again. For an account that is known it is renewed, and a paused " +
		"account goes on with it; a run that is under way is answered with 200 and started: false.",
	"list-accounts":  "Deleted accounts are listed as well, with their state.",
	"get-account":    "An account is named by its id or its login; digits are taken for an id first.",
	"set-account":    "What is left out stays as it is. What the owner keeps back holds for all accounts that draw on the same ration.",
	"pause-account":  "Calls that are under way end; the account's jobs wait until it is resumed.",
	"resume-account": "Its jobs go on where they were. An account that was paused because its credential was refused needs a new credential first.",
	"get-statistics": "They are computed when a run completes, and stay until the next one does.",
	"get-schedule":   "The policy is the account's own; what it leaves out is as for all accounts. Nothing is planned while a run is under way.",
	"set-schedule":   "The whole policy is replaced. An empty one follows the schedule of all accounts.",
	"delete-account": "Its credential is removed, its run is canceled and it is collected no more.",

	"list-cursors": "All of them are in the answer. A resource without one is collected whole by the next run.",

	"start-run":        "An account has one active run: while there is one, this is a conflict.",
	"list-runs":        "next_before of an answer is the before of the next page; the last page has none.",
	"get-run":          "ledger_summary says whether anything is missing: gaps is 0 only if everything that was announced is proven to be stored.",
	"cancel-run":       "Its jobs are canceled; what was stored stays. Calls that are under way end without effect.",
	"resume-run":       "It goes on from its failed jobs, at HIGH priority.",
	"set-run-priority": "HIGH goes before LOW, whoever owns it; of ten calls one is LOW while there are any.",
	"github-hook":      "The signature stands for the API token. A delivery that is repeated answers with the run that it started.",

	"query-sql": "The statement is one SELECT in the SQL of the store, on the views that docs/sql.md lists; whatever else it reads or calls is refused by the " +
		"engine of the store. It has 25 seconds, and nothing is noted in the audit log: it changes nothing.",

	"list-processes": "Each is asked, and has half a second to answer. One that was there and does not answer is listed for a day, with answers: false; one that was " +
		"stopped properly is not. In an installation of one process the list has one.",
	"list-backends": "Figures are those of the backend unless their names say that they are of this process. One that does not answer has an error instead; addresses have no secrets.",
	"list-sources":  "All are in the answer. A shipped one is collected once it is added: give its file to POST /api/v1/sources.",
	"get-source":    "The file is as it was added; what runs ask for is made of it. Credentials are of accounts, and in no file.",
	"check-source":  "Every mistake is told with its line and what to write instead. No call is made, nothing is stored, and nothing is noted in the audit log.",
	"add-source": "The file is kept beside the state, for all processes, which take it up without being started again: requests wait meanwhile, event streams end and are to be " +
		"opened again. If there is one of the name its file is changed, for all accounts; a run under way goes on by the new one. Columns keep their types. The " +
		"same file again changes nothing, and answers 200. The service will call the host that the file names, with the credentials that are given for it: any host, also of its own network.",
	"probe-source": "The calls are a second apart, draw on the rations as those of runs do, and show the credential to the source's own host alone. What they showed is kept for 90 days.",
	"remove-source": "One that has accounts is refused, as nobody could say what their documents are: purge the accounts first. What is built in, shipped or named by the settings " +
		"cannot be removed.",

	"list-queries": "There are 1,000 at most, and all are in the answer. They are kept beside the state, for all processes and people.",
	"get-query":    "Its statement is run with POST /api/v1/sql.",
	"save-query":   "The statement is not tried: what is wrong with it is told when it is run. Who may operate saves and removes; who may read runs.",
	"remove-query": "Nothing but the name and the statement is removed.",

	"search": "Words must all be there, \"phrases\" as they stand; -word excludes, begin* finds what begins like that (docs/search.md). Every document is " +
		"read as it is now; behind says what the index has not read yet. A page can have fewer results than its limit and not be the last: next_cursor tells.",

	"list-jobs": "next_after of an answer is the after of the next page; the last page has none.",
	"get-job":   "What the call is made with is not shown.",
	"retry-job": "The run of the job goes on with it.",
	"retry-jobs": "The filter says which failed jobs; at least one of its fields is needed. With dry_run nothing changes, and the answer says " +
		"how many there are.",
	"cancel-jobs": "The filter says which jobs that have not ended; at least one of its fields is needed. They are canceled with everything that is left of their runs, as a run " +
		"without some of its jobs would pass for a whole one; what was stored stays. With dry_run nothing changes, and the answer says how many jobs match.",
	"cancel-runs": "The filter says which active runs. With dry_run nothing changes, and the answer says how many there are.",
	"purge-account": "Everything that is kept of the account is removed from every store, in small steps; what is left is a mark that it was " +
		"there. An interrupted purge goes on by itself.",
	"list-notifications": "Those that wait, those that were sent in the last week, and those that were given up.",
	"test-notifications": "Every target, or the one that is named, is sent a message at once; the answer says what came of each.",
	"retry-notification": "One that was given up is sent again.",

	"get-quota":   "A window is what one owner may use of one bucket until it resets. Accounts whose credentials belong to one owner share it.",
	"reset-quota": "What the upstream told about its limits is forgotten for this owner; the next answer tells it again.",
	"dry-run":     "It calls the upstream for discovery alone and stores nothing; without a token a known account's own is used.",

	"watch-run": "The first event is a snapshot of the run, those after it are progress; each has the whole state, so that one that was missed " +
		"is made up for by the next. Last-Event-ID leaves out a state that the reader has, and answers 204 if that was the last.",
	"watch": "It begins with snapshots of all active runs; then every run that changes is sent as it is. Last-Event-ID goes on where another " +
		"stream, of this process or another one, broke off: runs that ended meanwhile are sent as well.",
	"watch-completions": "It begins with a snapshot that tells the position; a reader that comes back with it in Last-Event-ID misses no completion " +
		"that is still kept. missed of the snapshot says that some are not.",
	"watch-snapshot": "Every event is a snapshot with the whole answer to a read. Last-Event-ID leaves out what the reader has.",

	"get-account-stats": "Beside its figures it has the account's place among all accounts.",
	"get-leaderboard":   "Accounts with equal figures share a place.",
	"get-global-stats":  "Deleted accounts do not count.",
	"export": "Rows come in the order in which they are stored, as lines of JSON, as CSV or as Parquet. The columns of a kind are those that its " +
		"source declares.",

	"list-documents": "Rows have the columns that the kind declares, as an export has them; what the upstream shows no longer is among them, with " +
		"deleted set, unless deleted says otherwise. A page may be short, or empty, while there is a next_cursor: one request looks at so many " +
		"documents and no more. A repository's full name is looked up among those of the account, or of its owner.",
	"get-document": "A document that several accounts have collected is each account's own copy: account says whose.",
	"list-changes": "A change says which document is another one now, and not what it is: read it with get-document, or all of them with an export " +
		"of changed_since. Positions are in the order of commits. Give position of an answer as after to go on. A position that is older than " +
		"what is kept is answered with 410: export the documents anew then, and go on from newest. With Accept: text/event-stream changes " +
		"come as they are committed; the id of an event is a position, and Last-Event-ID goes on behind it, whatever process answers.",

	"set-timer":            "It fires once, at its instant or as soon as possible after it, also when the service was down meanwhile.",
	"list-timers":          "next_after of an answer is the after of the next page; the last page has none.",
	"get-timer":            "Timers that have fired are kept for a while.",
	"cancel-timer":         "One that has fired cannot be canceled.",
	"reschedule-timer":     "One that has fired cannot be moved.",
	"redeliver-timer":      "It is tried as often as it was the first time.",
	"list-completions":     "next of an answer is the after of the next page; the last page has none.",
	"completion-stats":     "Lateness is how long after its instant a timer fired.",
	"detect-missed-timers": "The service does so by itself now and then; this does it at once.",

	"get-snapshot": "It never waits for the upstream: freshness says how old the value is, updateQueued whether a newer one was asked for.",
	"list-snapshot-history": "They are the present value, those that are not archived yet, and those that were restored from the archive. " +
		"A value that a refresh found unchanged is not stored again.",
	"refresh":          "What is accepted is durable. An entity that is being refreshed already is not asked for twice.",
	"refresh-overview": "It is what the process that answers knows, and what the shared servers tell.",

	"list-dead-letters": "Counts are of all letters, whatever the filter.",
	"get-dead-letter":   "It has the request, and why it was given up.",
	"redrive":           "Name letters by their ids, or all of one cause by why.",
	"discard":           "They are gone then; letters are named by their ids alone.",

	"list-sinks":           "Those that are set, as this process sees them, and those that a command waits for.",
	"list-sink-letters":    "Only webhooks have letters. A sink that runs elsewhere is read from the same store.",
	"redrive-sink-letters": "It ends with the first that the receiver does not take. A letter holds rows as they were: receivers tell by the position which are newer.",
	"discard-sink-letters": "They are gone then; the rows that they hold come with their next change, or with a sync anew.",

	"sync-sink":       "The first time everything is copied, and later what has changed. The URL is neither stored nor logged.",
	"list-archive":    "Both days are included, in UTC.",
	"verify-archive":  "Every row is compared with its checksum; damaged files are named.",
	"restore-archive": "Name an entity by source and key, a source, or days.",
	"run-archive":     "The service does so by itself once a day; this does it at once.",
	"export-archive":  "An answer without its trailer is not complete.",

	"create-token": "The service keeps a hash of it alone: who loses it makes another one.",
	"list-tokens":  "Each has its name, its role, when it was made and until when it holds.",
	"revoke-token": "Streams that were opened with it end as well.",
	"whoami":       "Where no token is asked for, everybody is anonymous and an admin.",
	"list-audit":   "Every change has a line, whether it was carried out or refused.",

	"livez":       "It asks for nothing beyond the process itself: whoever restarts what is dead should ask here.",
	"readyz":      "With verbose, each check is listed with its state, as JSON, or as text for callers that accept text/plain alone.",
	"redis-stats": "Without Redis there is nothing to show, and the answer says so.",
}
