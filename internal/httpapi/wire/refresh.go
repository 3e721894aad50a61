package wire

import (
	"encoding/json"
	"time"
)

// SnapshotHistory is one page of the stored values of an entity, newest first.
type SnapshotHistory = List[SnapshotValue]

// SnapshotValue is a value that an entity has or once had.
type SnapshotValue struct {
	StoredAt time.Time       `json:"stored_at" doc:"When it was seen to have changed"`
	Version  int64           `json:"version" doc:"That of the refresh that brought it"`
	Hash     string          `json:"hash" doc:"SHA-256 over the canonical form of the value"`
	Size     int             `json:"size" doc:"Bytes of the canonical form"`
	Value    json.RawMessage `json:"value,omitempty" doc:"With values=true"`
}

// RefreshRequest asks for entities to be refreshed.
type RefreshRequest struct {
	Source        string   `json:"source" minLength:"1" maxLength:"50" doc:"The name of the upstream"`
	Keys          []string `json:"keys" minItems:"1" maxItems:"1000" doc:"Such as item-equipment:OCID"`
	Priority      string   `json:"priority,omitempty" enum:"HIGH,LOW" doc:"HIGH unless given"`
	CorrelationID string   `json:"correlation_id,omitempty" maxLength:"100" doc:"Leads to the log lines of this request"`
}

// RefreshAnswer says what became of each.
type RefreshAnswer struct {
	Results []RefreshResult `json:"results" nullable:"false"`
}

// RefreshResult is what became of one.
type RefreshResult struct {
	Key     string `json:"key"`
	Result  string `json:"result" enum:"PUBLISHED,UPGRADED,ALREADY_PROCESSING"`
	Version int64  `json:"version"`
}

// LettersRequest names dead letters.
type LettersRequest struct {
	IDs []string `json:"ids,omitempty" maxItems:"1000"`
	Why string   `json:"why,omitempty" maxLength:"100" doc:"All with this cause"`
}

// LettersAnswer counts the dead letters that were dealt with.
type LettersAnswer struct {
	Letters int `json:"letters"`
}
