package redis

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/backoff"
	"sluice/internal/domain"
)

// DefaultPrefix begins every key unless another is configured.
const DefaultPrefix = "sluice"

// Options says which Redis to use.
type Options struct {
	// URL is redis://[user:password@]host:port[/database], or rediss:// with
	// TLS. More nodes of a cluster follow as ?addr=host:port&addr=…, and files of
	// the authorities that are trusted, and of a certificate of the client's own,
	// as ?ca=FILE&cert=FILE&key=FILE.
	URL string
	// Prefix begins every key; several systems can share one Redis.
	Prefix string
	// Cache is how many bytes of answers each connection may keep, as long as
	// Redis says that they hold; 0 is none.
	Cache int
	// Observe, if set, is told how long Redis took to answer a command, or several
	// that begin with it, and whether it did not. What blocks is left out.
	Observe func(command string, took time.Duration, failed error)
}

// DB is a connection to Redis, single or cluster. It is safe for concurrent
// use; commands of concurrent callers share round trips.
type DB struct {
	Client rueidis.Client
	prefix string
}

// Open connects. An address that does not answer is an error of code
// unavailable.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if strings.ContainsAny(o.Prefix, "{}") {
		return nil, domain.Errorf(domain.CodeInvalid, "a Redis prefix has no braces: they are for the hash tag; got %q", o.Prefix)
	}
	address, files, err := cutFiles(o.URL)
	if err != nil {
		return nil, err
	}
	option, err := rueidis.ParseURL(address)
	if err != nil {
		// The parser's words may hold the password.
		return nil, domain.Errorf(domain.CodeInvalid, "the Redis URL %s cannot be parsed; write it like redis://host:6379/0", Redact(o.URL))
	}
	if err := files.use(&option); err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the Redis URL %s: %w", Redact(o.URL), err)
	}
	option.ClientName = "sluice"
	option.DisableCache, option.CacheSizeEachConn = o.Cache == 0, o.Cache
	// Keep-alive is left to the operating system: an idle process is to send
	// next to nothing, and rueidis would ping at this interval.
	option.Dialer.KeepAlive = 10 * time.Minute
	option.Dialer.KeepAliveConfig = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}
	option.Dialer.Timeout = 5 * time.Second
	option.ConnWriteTimeout = 10 * time.Second
	option.RetryDelay = retryDelay
	// A process has a dozen connections; half a megabyte for each direction of each
	// would be most of its memory, and no command here is that long.
	option.ReadBufferEachConn, option.WriteBufferEachConn = connectionBuffer, connectionBuffer
	client, err := rueidis.NewClient(option)
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "Redis at %s does not answer: %w", Redact(o.URL), err)
	}
	db := &DB{Client: limitedClient{client, o.Observe}, prefix: o.Prefix}
	if err := db.Ping(ctx); err != nil {
		client.Close()
		return nil, err
	}
	return db, nil
}

// connectionBuffer is what is read or written at once.
const connectionBuffer = 64 << 10

// readDelays are the pauses before a read is tried again.
var readDelays = backoff.Delays{First: 10 * time.Millisecond}

// retryDelay lets reads survive a connection that was cut, and no more: by
// default they would be tried until Redis is back, and who asks is to be told
// that it is away.
func retryDelay(attempts int, _ rueidis.Completed, _ error) time.Duration {
	const most = 3
	if attempts > most {
		return -1
	}
	return readDelays.Delay(attempts)
}

// Ping asks whether Redis answers.
func (d *DB) Ping(ctx context.Context) error {
	return failure(d.Client.Do(ctx, d.Client.B().Ping().Build()).Error())
}

// Close ends the connections.
func (d *DB) Close() { closeInTime(d.Client.Close) }

// Key names a key that all keys of the system share a slot with:
// {prefix}:name.
func (d *DB) Key(name string) string { return "{" + d.prefix + "}:" + name }

// OwnKey names a key in the slot of its own subject, so that subjects spread
// over a cluster: {prefix:subject}:name.
func (d *DB) OwnKey(subject, name string) string { return "{" + d.prefix + ":" + subject + "}:" + name }

// Redact returns a URL without its password. Where the password would be is not
// known of anything else, so that nothing of it is returned.
func Redact(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "(not a URL)"
	}
	return u.Redacted()
}

// failure tells what an error of Redis means to callers: everything that is
// not a canceled context may work when it is tried again.
func failure(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || domain.CodeOf(err) != domain.CodeInternal {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return domain.Errorf(domain.CodeUnavailable, "redis did not answer in time: %w", err)
	}
	return domain.Errorf(domain.CodeUnavailable, "redis: %w", err)
}
