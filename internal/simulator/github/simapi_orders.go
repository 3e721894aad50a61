package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// serveOrder does what makes the simulator behave differently:
//
//	GET    /_sim/nasty    the mode; POST changes the members it is given
//	POST   /_sim/faults   script a fault, or a change before a request
//	DELETE /_sim/faults   forget what was scripted
//	POST   /_sim/world    change the world
//	POST   /_sim/heavy    make a connection heavy; DELETE makes all light
//	POST   /_sim/clock    set the clock that the server shows off
//
// A POST answers 204, or 400 with what is wrong with it.
func (s *Server) serveOrder(w http.ResponseWriter, r *http.Request, path string) {
	var err error
	switch r.Method + " " + path {
	case "GET nasty":
		writeJSON(w, http.StatusOK, s.Nasty())
		return
	case "POST nasty":
		mode := s.Nasty()
		if err = readOrder(r, &mode); err == nil {
			err = s.SetNasty(mode)
		}
	case "POST faults":
		var order FaultOrder
		if err = readOrder(r, &order); err == nil {
			err = s.Script(order)
		}
	case "DELETE faults":
		s.ClearHooks()
	case "POST world":
		var order WorldOrder
		if err = readOrder(r, &order); err == nil {
			err = s.Change(order)
		}
	case "POST heavy":
		err = s.orderHeavy(r)
	case "DELETE heavy":
		s.ClearHeavy()
	case "POST clock":
		var order struct {
			Skew Duration `json:"skew"`
		}
		if err = readOrder(r, &order); err == nil {
			s.SetClockSkew(time.Duration(order.Skew))
		}
	default:
		writeJSON(w, http.StatusNotFound, map[string]string{"message": "Not Found"})
		return
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"message": err.Error()})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func readOrder(r *http.Request, into any) error {
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxQuery))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func (s *Server) orderHeavy(r *http.Request) error {
	var order struct {
		Heavy
		Repo       string `json:"repo"`
		Login      string `json:"login"` // for the list of an account's repositories
		Connection string `json:"connection"`
	}
	if err := readOrder(r, &order); err != nil {
		return err
	}
	if order.Login != "" {
		return s.SetHeavyAccount(order.Login, order.Heavy)
	}
	return s.SetHeavy(repoNamed(order.Repo), order.Connection, order.Heavy)
}

func repoNamed(fullName string) Repo {
	owner, name, _ := strings.Cut(fullName, "/")
	return Repo{Owner: owner, Name: name}
}

// WorldOrder is a change of the world in words, for those who ask over HTTP.
type WorldOrder struct {
	Change string `json:"change"`
	Repo   string `json:"repo"` // owner/name
	Number int    `json:"number,omitempty"`
	Count  int    `json:"count,omitempty"` // commits or stars; default 1
	Drop   int    `json:"drop,omitempty"`  // of a force push
	To     string `json:"to,omitempty"`    // the new owner or name
	Kind   string `json:"kind,omitempty"`  // of a part, such as comment
}

// Change makes the change that an order describes.
func (s *Server) Change(order WorldOrder) error {
	repo, count := repoNamed(order.Repo), max(order.Count, 1)
	made := map[string]func() error{
		"push":            func() error { return s.Push(repo, count) },
		"open_issue":      func() error { _, err := s.OpenIssue(repo); return err },
		"open_pull":       func() error { _, err := s.OpenPull(repo); return err },
		"edit_issue":      func() error { return s.EditIssue(repo, order.Number) },
		"close_issue":     func() error { return s.CloseIssue(repo, order.Number) },
		"reopen_issue":    func() error { return s.ReopenIssue(repo, order.Number) },
		"merge_pull":      func() error { return s.MergePull(repo, order.Number) },
		"add_part":        func() error { return s.AddPart(repo, order.Kind, order.Number) },
		"edit_part":       func() error { return s.EditPart(repo, order.Kind, order.Number) },
		"delete_part":     func() error { return s.DeletePart(repo, order.Kind, order.Number) },
		"star":            func() error { return s.Star(repo, count) },
		"delete_issue":    func() error { return s.DeleteIssue(repo, order.Number) },
		"restore_issue":   func() error { return s.RestoreIssue(repo, order.Number) },
		"delete":          func() error { return s.DeleteRepo(repo) },
		"restore":         func() error { return s.RestoreRepo(repo) },
		"block":           func() error { return s.BlockRepo(repo) },
		"unblock":         func() error { return s.UnblockRepo(repo) },
		"withdraw_access": func() error { return s.WithdrawAccess(repo) },
		"grant_access":    func() error { return s.GrantAccess(repo) },
		"make_private":    func() error { return s.SetPrivate(repo, true) },
		"make_public":     func() error { return s.SetPrivate(repo, false) },
		"rename":          func() error { return s.RenameRepo(repo, order.To) },
		"transfer":        func() error { return s.TransferRepo(repo, order.To) },
		"force_push":      func() error { return s.ForcePush(repo, max(order.Drop, 1), order.Count) },
		"merge_late":      func() error { return s.MergeLate(repo, count) },
	}
	change, ok := made[order.Change]
	if !ok {
		return fmt.Errorf("%q is not a change of the world", order.Change)
	}
	return change()
}

// FaultOrder is a scripted fault in words, for those who ask over HTTP.
type FaultOrder struct {
	Match FaultMatch `json:"match"`
	// Times is how often it happens, -1 for ever; default once.
	Times int `json:"times,omitempty"`
	// Before is a change of the world right before the request is answered.
	Before *WorldOrder `json:"before,omitempty"`

	// Kind is one of the kinds of faults; what else a kind needs follows. Without
	// a kind the members are taken as they are.
	Kind       string            `json:"kind,omitempty"`
	Status     int               `json:"status,omitempty"`
	Header     map[string]string `json:"header,omitempty"`
	Body       string            `json:"body,omitempty"`
	Delay      Duration          `json:"delay,omitempty"`
	Slow       Duration          `json:"slow,omitempty"`
	Skew       Duration          `json:"skew,omitempty"`
	Pad        int               `json:"pad,omitempty"`
	RetryAfter Duration          `json:"retry_after,omitempty"`
	Location   string            `json:"location,omitempty"`
	Resets     time.Time         `json:"resets,omitzero"`
	Partial    *Partial          `json:"partial,omitempty"`
}

// FaultMatch selects requests; empty members match everything.
type FaultMatch struct {
	Path      string `json:"path,omitempty"`      // part of it
	Query     string `json:"query,omitempty"`     // part of the parameters
	Token     string `json:"token,omitempty"`     // the whole of it
	GraphQL   string `json:"graphql,omitempty"`   // part of a query or its variables
	Operation string `json:"operation,omitempty"` // the name of a query
	Repo      string `json:"repo,omitempty"`      // owner/name
}

func (m FaultMatch) match() Match {
	var all []Match
	add := func(value string, matching func(string) Match) {
		if value != "" {
			all = append(all, matching(value))
		}
	}
	add(m.Path, PathContains)
	add(m.Query, QueryContains)
	add(m.Token, WithToken)
	add(m.GraphQL, GraphQLContains)
	add(m.Operation, GraphQLOperation)
	add(m.Repo, func(name string) Match { return ForRepo(repoNamed(name)) })
	return Every(all...)
}

// Script adds the fault that an order describes.
func (s *Server) Script(order FaultOrder) error {
	times := order.Times
	if times == 0 {
		times = 1
	}
	if order.Before != nil {
		change := *order.Before
		s.Before(order.Match.match(), times, func() {
			_ = s.Change(change) // a change that can no longer be made is none
		})
		if order.Kind == "" && order.Status == 0 {
			return nil
		}
	}
	fault, err := order.fault()
	if err != nil {
		return err
	}
	s.FailNext(order.Match.match(), times, fault)
	return nil
}

func (o *FaultOrder) fault() (Fault, error) {
	f, known := o.ofKind()
	if !known {
		return f, fmt.Errorf("%q is not a kind of fault", o.Kind)
	}
	if o.Kind == "" && o.Status == 0 && o.Partial == nil && o.Delay == 0 && o.Slow == 0 && o.Skew == 0 && o.Pad == 0 && o.Header == nil {
		return f, errors.New("the order says neither a kind of fault nor a status")
	}
	if o.Kind != "" {
		f.Kind = o.Kind
	}
	if o.Status != 0 {
		f.Status = o.Status
	}
	if o.Body != "" {
		f.Body = o.Body
	}
	if f.Header == nil {
		f.Header = http.Header{}
	}
	for name, value := range o.Header {
		f.Header.Set(name, value)
	}
	return f, nil
}

// ofKind makes the fault of a kind with what the order says about it.
func (o *FaultOrder) ofKind() (Fault, bool) {
	partial := Partial{Path: "**.nodes.*"}
	if o.Partial != nil {
		partial = *o.Partial
	}
	switch o.Kind {
	case "":
		return Fault{Delay: time.Duration(o.Delay), Slow: time.Duration(o.Slow), Skew: time.Duration(o.Skew), Pad: o.Pad, Partial: o.Partial}, true
	case FaultServerError:
		return ServerError(max(o.Status, http.StatusInternalServerError)), true
	case FaultDelayed:
		return Delayed(time.Duration(o.Delay)), true
	case FaultSlow:
		return SlowBody(time.Duration(o.Slow)), true
	case FaultHuge:
		return HugeBody(max(o.Pad, 8<<20)), true
	case FaultSecondary:
		return SecondaryLimit(max(time.Duration(o.RetryAfter), time.Second)), true
	case FaultRedirect:
		return Redirect(max(o.Status, http.StatusMovedPermanently), o.Location), true
	case FaultResetPast, FaultResetFar:
		return WindowEnds(o.Resets), true
	case FaultClock:
		return ClockJump(time.Duration(o.Skew)), true
	case FaultPartialNoPath:
		partial.NoPath = true
	case FaultPartialDeeper:
		partial.Deeper = true
	case FaultNodeNotFound:
		partial.Type, partial.Message = "NOT_FOUND", "Could not resolve to a node."
	case FaultNodeForbidden:
		partial.Type, partial.Message = "FORBIDDEN", "Resource not accessible by personal access token"
	case FaultPartialNode, FaultPartialField, FaultPartialConnection, FaultPartialAlias:
	default:
		return o.plain()
	}
	return PartialAnswer(partial), true
}

// plain makes the faults that need no more than their kind.
func (o *FaultOrder) plain() (Fault, bool) {
	switch o.Kind {
	case FaultHTMLPage:
		return HTMLErrorPage(), true
	case FaultMalformed:
		return MalformedJSON(), true
	case FaultTruncated:
		return TruncatedBody(), true
	case FaultReset:
		return ConnectionReset(), true
	case FaultCut:
		return ConnectionCut(), true
	case FaultSecondarySilent:
		return SecondaryLimit(0), true
	case FaultAbsurdWait:
		return AbsurdRetryAfter(), true
	case FaultUnauthorized:
		return BadCredentials(), true
	case FaultNotFound:
		return NotFoundOnce(), true
	case FaultQueryTimeout:
		return QueryTimeout(), true
	}
	return Fault{}, false
}
