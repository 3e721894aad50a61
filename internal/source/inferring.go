package source

import "sluice/internal/document"

// Inferring is a source of which some tables get their columns from the first records
// that were collected: once, and then they are fixed. Like every source it touches no
// store: whoever opens it keeps what was inferred.
type Inferring interface {
	// Uninferred are the kinds whose columns nobody knows yet.
	Uninferred() []document.Kind
	// Infer says what columns a kind gets, from payloads of its documents, as Adopt takes
	// them; nil if these show none. Names that others have given another type are taken.
	Infer(kind document.Kind, payloads [][]byte, taken map[string]document.Type) []byte
	// Types are the names and types of columns that were inferred of any kind.
	Types(columns []byte) []document.Column
	// Adopt gives a kind the columns that were inferred of it. What a file declares wins,
	// also of other kinds: a column whose name is taken by another type is left out.
	Adopt(kind document.Kind, columns []byte, taken map[string]document.Type) error
	// Inferred are the columns of all kinds that have adopted some, as Adopt takes them,
	// with how many values did not fit them since they were adopted.
	Inferred() map[document.Kind][]byte
}
