package httpapi

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/source"
)

// hookRoutes take the webhooks of every source whose upstream sends some.
type hookRoutes struct {
	*common
	Orchestrator RunKeeper
	// HookSecrets are what they are signed with, by the source's name.
	HookSecrets map[string]string
	// largeHooks has a place for each large webhook that is being read.
	largeHooks chan struct{}
}

func (s *hookRoutes) registerHooks(api huma.API) {
	for _, from := range s.Sources {
		if from.Hook != nil {
			s.registerHook(api, hookReceiver{Description: from, secret: s.HookSecrets[from.Name]})
		}
	}
}

func (s *hookRoutes) registerHook(api huma.API, from hookReceiver) {
	path := hookPath(from.Name)
	o := operation{id: from.Name + "-hook", method: http.MethodPost, path: path, tag: "runs",
		summary: "Receive a webhook from " + from.Title + ": what it is about is brought up to date", status: http.StatusAccepted,
		errors: []int{http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}}
	op := o.huma()
	op.Parameters = from.headers()
	huma.Register(api, op, func(ctx context.Context, in *hookInput) (*body[wire.HookAnswer], error) {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		out, err := s.receiveHook(ctx, from, in)
		if domain.CodeOf(err) == domain.CodeUnavailable {
			return nil, huma.ErrorWithHeaders(s.problem(ctx, o.id, err), http.Header{"Retry-After": {"10"}})
		}
		if errors.Is(err, errHookTooLarge) {
			return nil, newProblem(domain.CodeInvalid, http.StatusRequestEntityTooLarge,
				fmt.Sprintf("a webhook from %s has at most %d MiB", from.Title, from.Hook.MaxBytes>>20))
		}
		if broken := (*brokenHookError)(nil); errors.As(err, &broken) {
			return nil, brokenBody(broken.error)
		}
		if err != nil {
			return nil, s.problem(ctx, o.id, err)
		}
		return out, nil
	})
	// Described afterwards: huma would read what it knows to have a body.
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	api.OpenAPI().Paths[path].Post.RequestBody = &huma.RequestBody{
		Description: "What " + from.Title + " sends", Required: true,
		Content: map[string]*huma.MediaType{"application/json": text, "application/x-www-form-urlencoded": text},
	}
}

// smallHook is what a webhook may have without taking a place among the large
// ones, and large ones are so few at a time: whoever sends them is not known
// before the last byte.
const smallHook, largeHooks = 64 << 10, 2

// hookPath is where the webhooks of a source come in. It needs no token of ours:
// the upstream cannot send one. The signature stands for it.
func hookPath(source string) string { return "/api/v1/hooks/" + source }

// takesHooksAt reports whether webhooks come in at a path.
func (s *common) takesHooksAt(path string) bool {
	_, takes := s.hookOf(path)
	return takes
}

// hookOf is the source whose webhooks come in at a path.
func (s *common) hookOf(path string) (source string, takes bool) {
	for _, d := range s.Sources {
		if d.Hook != nil && path == hookPath(d.Name) {
			return d.Name, true
		}
	}
	return "", false
}

var (
	errHooksBusy    = domain.Errorf(domain.CodeUnavailable, "other large webhooks are being read; send this one again in a few seconds")
	errHookTooLarge = domain.Errorf(domain.CodeInvalid, "the webhook is too large")
)

// brokenHookError says that a webhook did not come as its header said.
type brokenHookError struct{ error }

// hookReceiver takes the webhooks of one source.
type hookReceiver struct {
	source.Description
	// secret is what they are signed with; "" takes none.
	secret string
}

const hookTypeHeader = "Content-Type"

// headers are what is read of a webhook beside its body.
func (h *hookReceiver) headers() []*huma.Param {
	header := func(name string, most int, doc string) *huma.Param {
		return &huma.Param{Name: name, In: "header", Description: doc, Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &most, Description: doc}}
	}
	return []*huma.Param{
		header(h.Hook.EventHeader, 100, ""), header(hookTypeHeader, 200, ""), header(h.Hook.SignatureHeader, 200, ""),
		header(h.Hook.DeliveryHeader, 100, "A delivery that is repeated answers with the runs that it went into"),
	}
}

// hookInput is a webhook. What its headers are called is the source's to say.
type hookInput struct {
	header func(name string) string
	body   io.Reader
}

// Resolve implements huma.Resolver: the body is not read before it must be.
func (in *hookInput) Resolve(ctx huma.Context) (wrong []error) {
	in.header, in.body = ctx.Header, ctx.BodyReader()
	for _, p := range ctx.Operation().Parameters {
		if value := ctx.Header(p.Name); utf8.RuneCountInString(value) > *p.Schema.MaxLength {
			wrong = append(wrong, &huma.ErrorDetail{
				Message: fmt.Sprintf(validation.MsgExpectedMaxLength, *p.Schema.MaxLength), Location: "header." + p.Name, Value: value,
			})
		}
	}
	return wrong
}

// receiveHook has an event carried out: what it is about is brought up to date.
func (s *hookRoutes) receiveHook(ctx context.Context, from hookReceiver, in *hookInput) (*body[wire.HookAnswer], error) {
	text, err := s.readHook(from, in)
	if err != nil {
		return nil, err
	}
	if in.header(from.Hook.EventHeader) == from.Hook.Trial {
		// The upstream tries out whether somebody is here.
		return &body[wire.HookAnswer]{wire.HookAnswer{Runs: []domain.Run{}}}, nil
	}
	runs, err := s.Orchestrator.Deliver(ctx, from.Name, source.Event{
		Name: in.header(from.Hook.EventHeader), Delivery: in.header(from.Hook.DeliveryHeader), MediaType: in.header(hookTypeHeader), Text: text,
	})
	if err != nil {
		return nil, err
	}
	return &body[wire.HookAnswer]{wire.HookAnswer{Runs: notNull(runs)}}, nil
}

// readHook reads a webhook and proves who sent it. What cannot be one is
// refused before anything of it is read.
func (s *hookRoutes) readHook(from hookReceiver, in *hookInput) ([]byte, error) {
	if from.secret == "" {
		return nil, domain.Errorf(domain.CodeNotFound, "webhooks from %s are not accepted; set %s to the secret that %s signs them with",
			from.Title, hookVariable(from.Hook.Setting), from.Title)
	}
	wrong := domain.Errorf(domain.CodeUnauthorized, "the signature of this webhook was not made with the secret that is configured")
	signature, hashed := strings.CutPrefix(in.header(from.Hook.SignatureHeader), "sha256=")
	given, err := hex.DecodeString(signature)
	if err != nil || len(given) != sha256.Size || !hashed {
		return nil, wrong
	}
	mac := hmac.New(sha256.New, []byte(from.secret))
	signed := io.TeeReader(in.body, mac)
	text, err := io.ReadAll(io.LimitReader(signed, smallHook))
	if err != nil {
		return nil, &brokenHookError{err}
	}
	if len(text) == smallHook {
		text, err = s.readLargeHook(text, signed, from.Hook.MaxBytes)
	}
	if err != nil {
		return nil, err
	}
	if !hmac.Equal(given, mac.Sum(nil)) {
		return nil, wrong
	}
	return text, nil
}

// readLargeHook reads the rest of a webhook, if there is a place for it.
func (s *hookRoutes) readLargeHook(text []byte, rest io.Reader, most int) ([]byte, error) {
	select {
	case s.largeHooks <- struct{}{}:
		defer func() { <-s.largeHooks }()
	default:
		return nil, errHooksBusy
	}
	all := bytes.NewBuffer(text)
	if _, err := all.ReadFrom(io.LimitReader(rest, int64(most-smallHook+1))); err != nil {
		return nil, &brokenHookError{err}
	}
	if all.Len() > most {
		return nil, errHookTooLarge
	}
	return all.Bytes(), nil
}

// hookVariable is the environment variable of a setting.
func hookVariable(setting string) string {
	return "SLUICE_" + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}
