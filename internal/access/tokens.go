package access

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"slices"
	"sync"
	"time"

	"sluice/internal/domain"
)

const (
	// knownFor is how long what the store said is believed: a token that was
	// revoked in another process ends after it.
	knownFor = 3 * time.Second
	// storePatience is how long the store may take to say which tokens there are.
	storePatience = time.Second
	// startPatience is the same at the start, when nobody waits for an answer and a
	// machine may be busy.
	startPatience = 30 * time.Second
	// readsOutlast is how long tokens may go on reading while the store does not
	// answer: metrics tell about its outage.
	readsOutlast = 5 * time.Minute
)

// TokensOptions configures Tokens.
type TokensOptions struct {
	// Store keeps the tokens; nil means that there are none.
	Store TokenStore
	// Guarded says that there is a token in the settings, which is an admin's.
	Guarded bool
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	Log *slog.Logger
}

// Tokens makes, lists, revokes and recognises the tokens of the API. It is safe
// for concurrent use.
type Tokens struct {
	options TokensOptions

	// loading is held by whoever asks the store.
	loading sync.Mutex
	mu      sync.Mutex
	known   []StoredToken
	// loaded is when the store said so, asked when it was last asked.
	loaded, asked time.Time
}

// NewTokens returns the tokens of a store.
func NewTokens(o TokensOptions) *Tokens {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Tokens{options: o}
}

// Load reads which tokens there are, so that this is known should the store not
// answer later.
func (k *Tokens) Load(ctx context.Context) error {
	if k.options.Store == nil {
		return nil
	}
	k.loading.Lock()
	defer k.loading.Unlock()
	return k.load(ctx, startPatience)
}

// load asks the store; the caller holds loading.
func (k *Tokens) load(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	asked := k.options.Now()
	known, err := k.options.Store.Tokens(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = asked
	if err != nil {
		return domain.Errorf(domain.CodeUnavailable, "the store does not say which tokens there are: %w", err)
	}
	k.known, k.loaded = known, asked
	return nil
}

// current returns the tokens as they were at most knownFor ago, or an error and
// what was known last, and when.
func (k *Tokens) current(ctx context.Context) ([]StoredToken, time.Time, error) {
	if k.options.Store == nil {
		return nil, k.options.Now(), nil
	}
	if known, at, fresh := k.remembered(); fresh {
		return known, at, nil
	}
	k.loading.Lock()
	defer k.loading.Unlock()
	known, at, fresh := k.remembered()
	if fresh {
		return known, at, nil
	}
	if k.askedLately() {
		return known, at, domain.Errorf(domain.CodeUnavailable, "the store does not say which tokens there are; try again in some seconds")
	}
	// A caller that goes away has asked for the others too.
	err := k.load(context.WithoutCancel(ctx), storePatience)
	if err != nil {
		k.options.Log.WarnContext(ctx, "tokens cannot be read", "error", err)
	}
	known, at, _ = k.remembered()
	return known, at, err
}

func (k *Tokens) remembered() (known []StoredToken, at time.Time, fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	age := k.options.Now().Sub(k.loaded)
	return k.known, k.loaded, !k.loaded.IsZero() && age >= 0 && age < knownFor
}

// askedLately keeps a store that hangs from holding up every caller.
func (k *Tokens) askedLately() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	age := k.options.Now().Sub(k.asked)
	return !k.asked.IsZero() && age >= 0 && age < knownFor
}

// forget makes the next question go to the store.
func (k *Tokens) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.loaded, k.asked = time.Time{}, time.Time{}
}

// Any says whether there are tokens: where there is one, callers need one. While
// the store does not answer, what was known last holds.
func (k *Tokens) Any(ctx context.Context) bool {
	known, _, _ := k.current(ctx)
	return len(known) > 0
}

// Recognise says who has a token. One that is unknown, revoked or over is an error
// of code unauthorized. Whatever is compared takes the same time, whoever asks.
func (k *Tokens) Recognise(ctx context.Context, secret string) (Identity, error) {
	known, at, err := k.current(ctx)
	now := k.options.Now()
	digest, found := DigestOf(secret), -1
	for i := range known {
		if subtle.ConstantTimeCompare(digest[:], known[i].Digest[:]) == 1 {
			found = i
		}
	}
	switch {
	case found < 0 && err != nil:
		return Identity{}, err
	case found < 0 || !known[found].valid(now):
		return Identity{}, domain.Errorf(domain.CodeUnauthorized, "the API token is not, or not any more, one of this service")
	case err != nil && now.Sub(at) > readsOutlast:
		return Identity{}, err
	}
	token := known[found].Token
	who := Identity{Actor: ActorToken(token.Name), Role: token.Role, Token: hex.EncodeToString(digest[:16])}
	if err != nil {
		// It may have been revoked since: it looks, and changes nothing.
		who.Role = Read
		return who, nil //nolint:nilerr // what was known last may look
	}
	k.touch(ctx, token, now)
	return who, nil
}

// touch notes that a token was used, once an hour.
func (k *Tokens) touch(ctx context.Context, t Token, now time.Time) {
	hour := now.UTC().Truncate(time.Hour)
	if !t.LastUsed.Before(hour) || !k.remember(t.Name, hour) {
		return
	}
	ctx, cancel := context.WithTimeout(WithoutTrail(context.WithoutCancel(ctx)), storePatience)
	defer cancel()
	if err := k.options.Store.TouchToken(ctx, t.Name, hour); err != nil {
		k.options.Log.DebugContext(ctx, "the use of a token is not noted", "token", t.Name, "error", err)
	}
}

// remember notes a use here, and says whether the caller is the first to.
func (k *Tokens) remember(name string, hour time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.known, func(t StoredToken) bool { return t.Name == name })
	if i < 0 || !k.known[i].LastUsed.Before(hour) {
		return false
	}
	// Others may be reading the list.
	k.known = slices.Clone(k.known)
	k.known[i].LastUsed = hour
	return true
}

// List returns all tokens, by name, as the store has them now.
func (k *Tokens) List(ctx context.Context) ([]Token, error) {
	if k.options.Store == nil {
		return nil, nil
	}
	stored, err := k.options.Store.Tokens(ctx)
	tokens := make([]Token, len(stored))
	for i, t := range stored {
		tokens[i] = t.Token
	}
	return tokens, err
}

// Create makes a token that ends after a while, or never if that is 0, and returns
// it: nobody can tell it later. The first is an admin's, as nobody could make
// another otherwise.
func (k *Tokens) Create(ctx context.Context, name string, role Role, lasts time.Duration) (Token, string, error) {
	if err := checkName(name); err != nil {
		return Token{}, "", err
	}
	if _, err := ParseRole(string(role)); err != nil {
		return Token{}, "", err
	}
	if lasts < 0 {
		return Token{}, "", domain.Errorf(domain.CodeInvalid, "a token cannot end before it begins; give how long it lasts, such as 720h, or nothing")
	}
	if k.options.Store == nil {
		return Token{}, "", domain.Errorf(domain.CodeUnavailable, "this service keeps no tokens")
	}
	now := k.options.Now()
	secret := newSecret()
	token := Token{Name: name, Role: role, Prefix: secret[:prefixLength], Created: now.UTC().Truncate(time.Microsecond)}
	if lasts > 0 {
		token.Expires = token.Created.Add(lasts)
	}
	if err := k.options.Store.AddToken(ctx, StoredToken{token, DigestOf(secret)}, k.options.Guarded); err != nil {
		return Token{}, "", err
	}
	k.forget()
	return token, secret, nil
}

// Revoke ends a token: here at once, elsewhere within seconds. The last admin's
// goes last, unless the settings have one (MayRemove).
func (k *Tokens) Revoke(ctx context.Context, name string) error {
	if k.options.Store == nil {
		return NoToken(name)
	}
	if err := k.options.Store.RemoveToken(ctx, name, k.options.Now(), k.options.Guarded); err != nil {
		return err
	}
	k.forget()
	return nil
}
