package source

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// Inspector is implemented by sources that can tell with one call what a
// credential allows.
type Inspector interface {
	// Inspection is the job whose call Inspect makes: what it takes from the
	// quota follows from it.
	Inspection(login string) domain.JobSpec
	// Inspect makes that call. Its Result has no documents: Done says that the
	// credential reaches the account, PauseAccount that it is refused, FailRun that
	// there is no such account; all else leaves it unknown.
	Inspect(ctx context.Context, c Call) (Result, Allowance)
}

// Allowance is what a credential allows, as far as one call tells.
type Allowance struct {
	// Kind is what people call such a credential.
	Kind   string   `json:"kind,omitempty" doc:"What kind of credential it is"`
	Scopes []string `json:"scopes,omitempty" doc:"What it was made for, where the upstream tells"`
	// Target is what the account turned out to be.
	Target    domain.Target `json:"target,omitempty" doc:"What the account turned out to be"`
	ExpiresAt time.Time     `json:"expires_at,omitzero" doc:"When it ends, where the upstream tells"`
	Limits    []string      `json:"limits,omitempty" doc:"What it does not allow, each with what to do about it"`
	Unchecked string        `json:"unchecked,omitempty" doc:"Why the upstream could not be asked; nothing else is known then"`
}

// Elsewhere is where other programs of a machine have a credential of the
// upstream.
type Elsewhere struct {
	// Variables are environment variables that hold one; the first that is set
	// counts.
	Variables []string
	// Command prints one.
	Command []string
}

// App is what an upstream issues credentials for that are not a person's.
type App struct {
	ID, Installation int64
	// Key is the text of its private key.
	Key string
}
