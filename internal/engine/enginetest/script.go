package enginetest

import (
	"context"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
)

// Script is a source whose runs begin with Roots and whose calls are answered
// by a function.
type Script struct {
	Roots  []domain.JobSpec
	Answer func(context.Context, source.Call) source.Result
	// Kinds are those of the documents that it answers with.
	Kinds document.Kinds
	// Key, if set, names the remembered page of a job.
	Key func(domain.JobSpec) string
}

var (
	_ source.Source      = (*Script)(nil)
	_ source.Conditional = (*Script)(nil)
)

// Item is a job that a Script may begin with or lead to.
func Item(typ, resource string) domain.JobSpec {
	return domain.JobSpec{Type: typ, Resource: resource, Bucket: "core", Class: domain.ClassChild}
}

// Name implements source.Source.
func (s *Script) Name() string { return "script" }

// Describe implements source.Source.
func (s *Script) Describe() source.Description {
	return source.Description{Name: s.Name(), Title: "a script", Kinds: s.Kinds}
}

// CheckLogin implements source.Source.
func (s *Script) CheckLogin(login string) error {
	if login == "" {
		return domain.Errorf(domain.CodeInvalid, "a login is needed")
	}
	return nil
}

// Plan implements source.Source.
func (s *Script) Plan(domain.Run) ([]domain.JobSpec, error) { return s.Roots, nil }

// Ask implements source.Source.
func (s *Script) Ask(job domain.JobSpec, owner string) (quota.Ask, error) {
	return quota.Ask{Owner: owner, Bucket: job.Bucket, Endpoint: job.Type, Cost: 1, Points: 1}, nil
}

// Call implements source.Source.
func (s *Script) Call(ctx context.Context, c source.Call) source.Result { return s.Answer(ctx, c) }

// StoredKey implements source.Conditional.
func (s *Script) StoredKey(job domain.JobSpec) string {
	if s.Key == nil {
		return ""
	}
	return s.Key(job)
}
