package wire

import (
	"encoding/json"

	"sluice/internal/query"
)

// SQLRequest is a statement that reads the documented views.
type SQLRequest struct {
	Query string `json:"query" minLength:"1" maxLength:"65536" doc:"One SELECT, in the SQL of the store"`
	Limit int    `json:"limit,omitempty" minimum:"1" maximum:"100000" default:"1000" doc:"How many rows at most"`
}

// SQLAnswer is what a statement has found.
type SQLAnswer struct {
	Columns []string `json:"columns" nullable:"false" doc:"The names of the columns, in their order"`
	// Rows have values of JSON, so that numbers of any size stay what they are.
	Rows [][]json.RawMessage `json:"rows" nullable:"false" doc:"Each row has a value for every column: a number, a text, true, false or null"`
	More bool                `json:"more" doc:"Whether there are more rows, which were not read: raise limit, or narrow the statement"`
}

// QueryRequest is a statement to be saved.
type QueryRequest struct {
	Query string `json:"query" minLength:"1" maxLength:"32768" doc:"One SELECT, in the SQL of the store"`
	About string `json:"about,omitempty" maxLength:"300" doc:"What it answers, for people"`
}

// QueryList is every saved query, by name.
type QueryList = List[query.SavedQuery]
