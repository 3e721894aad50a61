package wire

import (
	"time"

	"sluice/internal/sink"
)

// SinkList are all sinks of a process.
type SinkList struct {
	Items []Sink `json:"items" nullable:"false"`
}

// Sink is where documents are carried to, and how that fares.
type Sink struct {
	Name string `json:"name" doc:"As it was set; sync is one that a command waits for"`
	Kind string `json:"kind" doc:"What kind of target it has, such as postgres"`
	// State is what it does.
	State string `json:"state" enum:"stopped,starting,backfilling,following,failed,elsewhere,done" doc:"elsewhere: another process carries it"`
	// Position is the change up to which the target has everything, once it is
	// backfilled.
	Position   int64 `json:"position"`
	Backfilled bool  `json:"backfilled"`
	// BehindChanges and BehindSeconds are not there while nobody can tell: before the
	// target was reached, and during a backfill.
	BehindChanges *int64   `json:"behind_changes,omitempty" doc:"Changes that are not in the target yet"`
	BehindSeconds *float64 `json:"behind_seconds,omitempty" doc:"How long ago the first of them was committed"`
	Rows          int64    `json:"rows" doc:"Rows that this process has carried"`
	// Letters is not there for targets that refuse no batch.
	Letters *int64 `json:"letters,omitempty" doc:"Batches that the receiver refused and that were set aside"`
	// Error is what went wrong last; it is tried again.
	Error   string    `json:"error,omitempty"`
	ErrorAt time.Time `json:"error_at,omitzero"`
}

// SinkOf is a sink as it is shown.
func SinkOf(l *sink.Listed) Sink {
	s := Sink{
		Name: l.Name, Kind: l.Kind, State: string(l.State), Position: l.Position, Backfilled: l.Backfilled,
		Rows: l.Rows, Error: l.Error, ErrorAt: l.ErrorAt,
	}
	if l.Lettered {
		s.Letters = &l.Letters
	}
	if l.Known {
		seconds := l.Age.Seconds()
		s.BehindChanges, s.BehindSeconds = &l.Changes, &seconds
	}
	return s
}

// SinkLetters are batches that a receiver refused, the oldest first.
type SinkLetters struct {
	Items []SinkLetter `json:"items" nullable:"false"`
}

// SinkLetter is a batch that was set aside.
type SinkLetter struct {
	ID string    `json:"id" doc:"It is also in the header webhook-id"`
	At time.Time `json:"at" doc:"When it was set aside"`
	// Status is left out if nobody answered.
	Status int    `json:"status,omitempty" doc:"What the receiver answered"`
	Reason string `json:"reason"`
	Bytes  int    `json:"bytes"`
}

// SinkLettersOf are letters as they are shown.
func SinkLettersOf(letters []sink.Letter) SinkLetters {
	out := SinkLetters{Items: []SinkLetter{}}
	for _, l := range letters {
		out.Items = append(out.Items, SinkLetter(l))
	}
	return out
}

// SinkLettersRequest names letters of a sink.
type SinkLettersRequest struct {
	IDs []string `json:"ids,omitempty" maxItems:"1000"`
	All bool     `json:"all,omitempty" doc:"All that there are, in place of ids"`
}

// SyncRequest asks for all documents to be carried to a target.
type SyncRequest struct {
	URL string `json:"url" minLength:"1" maxLength:"4096" doc:"Where to, such as postgres://user:password@host/database; it is not stored"`
	// Anew carries everything once more.
	Anew bool `json:"anew,omitempty" doc:"Begin from the first document, also where the target follows another store, and remove what is not here"`
}

// Synced is what came of it.
type Synced struct {
	Kind string `json:"kind"`
	// Rows are those that were carried, which may be none.
	Rows     int64 `json:"rows"`
	Position int64 `json:"position"`
}
