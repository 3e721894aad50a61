package wire

import "sluice/internal/catalogue"

// SourceList is all sources.
type SourceList = List[catalogue.Item]

// SourceAnswer is a source that was added, or was there as it is.
type SourceAnswer struct {
	catalogue.Detail
	// New says that there was none of the name.
	New bool `json:"new" doc:"Whether there was none of the name"`
}

// SourceProbe says for whom a source is tried out.
type SourceProbe struct {
	Target string `json:"target,omitempty" maxLength:"200" doc:"What is asked for, where the file's addresses speak of one"`
	Token  string `json:"token,omitempty" maxLength:"16384" pattern:"^[!-~]*$" patternDescription:"a token without spaces" format:"password" writeOnly:"true" doc:"A credential, which is not stored; without one that of the account with this target is used"`
}

// SourceCheck is a file to be checked.
type SourceCheck struct {
	File string `json:"file" doc:"The file"`
}
