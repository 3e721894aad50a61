package source

import (
	"context"
	"maps"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/quota"
)

// Description is what a source declares about itself. All that the program does
// for a source follows from it: tables and their columns, what is counted, rations,
// webhooks, settings. No package but the source's own knows it by name.
type Description struct {
	// Name is how accounts and entities refer to the source, and what begins the
	// names of its variables; Title is what people call it.
	Name, Title string
	// Kinds are the documents that it collects; none for keyed records.
	Kinds document.Kinds
	// Rations are what the upstream grants each owner of a credential, and
	// Concurrency is how many calls of one owner may be under way.
	Rations     []Ration
	Concurrency int
	// Credential says, for people, what may stand in the place of a token; "" if
	// nothing does.
	Credential string
	// Elsewhere tells where other programs have a credential for the upstream that
	// is set; nil if nowhere.
	Elsewhere func(Settings) Elsewhere
	// AppCredential is the credential of an app, or why there can be none; nil if
	// the upstream has no apps.
	AppCredential func(App) (string, error)
	// Hook is how the upstream tells of changes; nil if it does not.
	Hook *Hook
	// Settings are what can be set about it.
	Settings []Setting
}

// Ration is a bucket of calls that an upstream grants, as far as is known before
// its first answer.
type Ration struct {
	Bucket string
	quota.Limits
	// Kept says that owners keep a part of it for themselves.
	Kept bool
}

// Quota is what the source's rations are to a keeper, with the floor that owners
// keep for themselves.
func (d Description) Quota(floor int) quota.Config {
	c := quota.Config{Concurrency: d.Concurrency, Buckets: map[string]quota.Limits{}}
	for _, r := range d.Rations {
		if r.Kept {
			r.Floor = floor
		}
		c.Buckets[r.Bucket] = r.Limits
	}
	return c
}

// Hook is how an upstream tells of changes: by requests to this program, signed
// with HMAC-SHA256 as sha256=HEX. What follows from them says a source that is
// Hooked.
type Hook struct {
	// Setting is where the secret comes from that they are signed with.
	Setting string
	// MaxBytes is the most that the upstream sends.
	MaxBytes int
	// EventHeader names what happened, SignatureHeader the signature, and
	// DeliveryHeader the delivery, which is the same when it is sent again.
	EventHeader, SignatureHeader, DeliveryHeader string
	// Trial is the event that only tries out whether somebody is here.
	Trial string
}

// Registration is a source as the program knows it before it is opened: what it
// declares, and how to open it by what was set. A source is collected in runs
// (Walks) or asked for keyed records (Records).
type Registration struct {
	Description
	Walks func(Settings) (Source, error)
	// Records opens a source of keyed records. Needs is the setting without which
	// there is none.
	Records func(Settings) (Records, error)
	Needs   string
	// Check reports each setting that is wrong, with a text that names it, its value
	// and what it must be; nil if nothing can be.
	Check func(s Settings, report func(setting, format string, args ...any))
	// Probe asks the upstream for something that costs nothing, and tells in a few
	// words what came of it. Fix is what to do if it fails.
	Probe func(context.Context, Settings) (string, error)
	Fix   string
}

// Quota is what several sources' rations are to one keeper. A bucket is one
// source's.
func Quota(of []Description, floor int) (quota.Config, error) {
	all := quota.Config{Buckets: map[string]quota.Limits{}}
	for _, d := range of {
		one := d.Quota(floor)
		for bucket := range one.Buckets {
			if _, twice := all.Buckets[bucket]; twice {
				return all, domain.Errorf(domain.CodeInvalid, "the bucket %s of %s is another source's too", bucket, d.Name)
			}
		}
		maps.Copy(all.Buckets, one.Buckets)
		if all.Concurrency == 0 || one.Concurrency > 0 && one.Concurrency < all.Concurrency {
			all.Concurrency = one.Concurrency
		}
	}
	return all, nil
}

// Kinds are the kinds of documents of several sources.
func Kinds(of []Description) document.Kinds {
	var all document.Kinds
	for _, d := range of {
		all = append(all, d.Kinds...)
	}
	return all
}
