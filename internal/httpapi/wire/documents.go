package wire

import (
	"encoding/json"
	"time"
)

// DocumentList is one page of documents of one kind: rows with the columns that the
// kind declares, as an export has them.
type DocumentList = List[json.RawMessage]

// HeaderPosition is the header of an export of what has changed: the position to go
// on after the next time.
const HeaderPosition = "Sluice-Position"

// Change says that a document is another one now, and not what it is: read it.
type Change struct {
	Position int64 `json:"position" doc:"Its place in the feed: positions are in the order of commits, and never used twice"`
	// AccountID and Account are whose it is; the login is empty of one that is
	// unknown by now.
	AccountID int64  `json:"account_id"`
	Account   string `json:"account,omitempty" doc:"The login of the account"`
	Source    string `json:"source,omitempty"`
	Kind      string `json:"kind,omitempty" doc:"The name of its table; absent if the whole account was purged"`
	ID        string `json:"id,omitempty" doc:"Its id in the table; absent if the whole account was purged"`
	What      string `json:"what" enum:"created,updated,deleted,purged" doc:"deleted: the upstream shows it no longer, and it is kept and flagged; purged: everything of the account was removed"`
	// Version is that of the document.
	Version *time.Time `json:"version,omitempty" doc:"When it changed at the upstream; absent if the whole account was purged"`
	At      time.Time  `json:"at" doc:"When it was committed here"`
}

// FeedBounds say what a feed still has.
type FeedBounds struct {
	Feed   string `json:"feed" doc:"Names this feed among all that there are: a position means nothing in another one"`
	Oldest int64  `json:"oldest" doc:"The first position that is kept; newest + 1 if there is none"`
	Newest int64  `json:"newest" doc:"The last position that is taken"`
	// Position is what was reached.
	Position int64 `json:"position" doc:"Give it as after to go on"`
}

// ChangePage is a part of the feed of changes.
type ChangePage struct {
	Items []Change `json:"items" nullable:"false"`
	FeedBounds
	More bool `json:"more" doc:"Whether there was more to look at: ask again at once with position as after"`
}

// The names of the events of a stream of changes, beside snapshot, whose data is
// FeedBounds: where the stream begins.
const (
	EventChange   = "change"   // data is a Change
	EventPosition = "position" // data is FeedBounds: nothing that was asked for up to it
)
