package source

import "sluice/internal/domain"

// Hooked is implemented by sources whose upstream tells of changes: it says what
// follows from an event.
type Hooked interface {
	// Notices says whom an event is about and what each of them has to be asked for.
	// It makes no call; what it cannot read is about nobody. Delivery is what the
	// upstream calls the event: jobs of different ones have different names.
	Notices(e Event) []Notice
}

// Event is what an upstream told.
type Event struct {
	// Name is what happened, and Delivery what this telling of it is called.
	Name, Delivery string
	// MediaType and Text are the body as it came.
	MediaType string
	Text      []byte
}

// Notice is what an event means for one account.
type Notice struct {
	Login string
	// Jobs bring it up to date; none means that it is to be collected as a whole.
	Jobs []domain.JobSpec
}
