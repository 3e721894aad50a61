package wire

import "time"

// SearchAnswer is a page of documents that match a search, newest first.
type SearchAnswer struct {
	List[SearchHit]
	// Behind is how far the index is behind the documents.
	Behind SearchBehind `json:"behind"`
}

// SearchBehind is how far the index is behind the documents.
type SearchBehind struct {
	Changes  int64 `json:"changes" doc:"How many changes of documents the index has not read yet"`
	Building bool  `json:"building" doc:"Whether the index does not have all documents yet"`
}

// SearchHit is a document that matches.
type SearchHit struct {
	Kind      string        `json:"kind" doc:"The name of the table that has it"`
	ID        string        `json:"id"`
	Account   string        `json:"account" doc:"The login of the account that it was collected for"`
	Source    string        `json:"source"`
	Title     string        `json:"title,omitempty"`
	URL       string        `json:"url,omitempty" doc:"Its address for people, if it has one"`
	UpdatedAt time.Time     `json:"updated_at" doc:"What results are sorted by: when it was updated, or created"`
	Deleted   bool          `json:"deleted" doc:"Whether the upstream shows it no longer"`
	Snippet   SearchSnippet `json:"snippet"`
}

// SearchSnippet is a part of a text that matches.
type SearchSnippet struct {
	Column string   `json:"column" doc:"The column that it is of"`
	Text   string   `json:"text"`
	Marks  [][2]int `json:"marks" nullable:"false" doc:"What matches in the text: the first character of each, and the one behind it; characters are counted, not bytes"`
}
