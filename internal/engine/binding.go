package engine

import (
	"context"
	"encoding/json"
	"strings"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// A credential of a source whose address can be set is sealed together with where it may
// go, and with the values of the source's config that are the account's: neither can be
// changed without the other, and whoever changes an address elsewhere finds the
// credential unusable.

// binding is what is sealed.
type binding struct {
	Token string `json:"token"`
	// To is where it may go, as source.Bound tells; "" if it goes nowhere.
	To  string            `json:"to,omitempty"`
	Set map[string]string `json:"set,omitempty"`
}

// bindingMark begins it; no token does.
const bindingMark = "\x01"

func (b binding) text() string {
	// Texts can be encoded.
	text, _ := json.Marshal(b)
	return bindingMark + string(text)
}

// parseBinding reads what was sealed: a binding, or a token alone.
func parseBinding(plain string) (b binding, err error) {
	text, bound := strings.CutPrefix(plain, bindingMark)
	if !bound {
		return binding{Token: plain}, nil
	}
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return b, domain.Errorf(domain.CodeCorrupt, "what a credential is for cannot be read: %w", err)
	}
	return b, nil
}

// sourceOf is the source of an account, with the values that are its own. An error of
// code conflict says that its credential must not be shown where the source is now.
func (c *core) sourceOf(a account) (source.Source, error) {
	src, err := c.source(a.Source)
	if err != nil {
		return nil, err
	}
	of, ok := src.(source.Bound)
	if !ok {
		return src, nil
	}
	src, err = of.With(a.set)
	if err != nil {
		return nil, domain.Errorf(domain.CodeConflict, "what is set for %s cannot be set any more: %w; set it anew with `sluice account set %s:%s --set NAME=VALUE`", a.Login, err, a.Source, a.Login)
	}
	if own, ok := src.(source.Bound); ok {
		of = own
	}
	switch to, err := of.Destination(a.Login, a.token); {
	case err != nil:
		return nil, domain.Errorf(domain.CodeConflict, "where the credential of %s goes cannot be told: %w", a.Login, err)
	case to == a.to:
		return src, nil
	case a.to == "":
		return nil, domain.Errorf(domain.CodeConflict, "%s wants a credential now, for %s: give one with `sluice account set %s:%s --token-file FILE`", a.Source, to, a.Source, a.Login)
	default:
		return nil, domain.Errorf(domain.CodeConflict, "the credential of %s was given for %s, and %s is at %s now, where it is not shown: give one for it with "+
			"`sluice account set %s:%s --token-file FILE`, or set the address back", a.Login, a.to, a.Source, orNowhere(to), a.Source, a.Login)
	}
}

func orNowhere(to string) string {
	if to == "" {
		return "an address that wants none"
	}
	return to
}

// bind is what is sealed for an account, and the name of the credential: the same for the
// same one at the same place.
func (c *core) bind(src source.Source, s Signup) (sealed, name string, err error) {
	of, ok := src.(source.Bound)
	if !ok {
		if len(s.Set) > 0 {
			return "", "", domain.Errorf(domain.CodeInvalid, "the source %s has no values to set", s.Source)
		}
		return s.Token, s.Source + ":" + s.Token, nil
	}
	to, err := of.Destination(s.Login, s.Token)
	if err != nil {
		return "", "", err
	}
	return binding{s.Token, to, s.Set}.text(), s.Source + ":" + to + " " + s.Token, nil
}

// complete adds to what somebody asks for an account what is stored of it: its own
// values where none are given, and its credential where that still goes where it was
// given for.
func (r *requests) complete(s Signup, before account) (Signup, source.Source, error) {
	if s.Set == nil {
		s.Set = before.set
	}
	src, err := r.source(s.Source)
	if err != nil {
		return s, nil, err
	}
	if of, ok := src.(source.Bound); ok {
		if src, err = of.With(s.Set); err != nil {
			return s, nil, err
		}
	}
	if s.Token != "" || before.token == "" {
		return s, src, nil
	}
	changed := before
	changed.set = s.Set
	if _, err := r.sourceOf(changed); err != nil {
		return s, nil, err
	}
	s.Token = before.token
	return s, src, nil
}

// Binding tells of an account where its credential may go, and which values of its
// source's config are its own.
func (c *core) Binding(ctx context.Context, id int64) (to string, set map[string]string, err error) {
	a, err := c.accounts.get(ctx, id)
	return a.to, a.set, err
}

// orPublic is a credential, or what stands for one where the upstream wants none.
func orPublic(src source.Source, token string) string {
	checker, ok := src.(source.CredentialChecker)
	if _, bound := src.(source.Bound); token != "" || !ok || !bound {
		return token
	}
	// One that is wanted is refused if it is empty.
	token, err := checker.CheckCredential("")
	if err != nil {
		return ""
	}
	return token
}
