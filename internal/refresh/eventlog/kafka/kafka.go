// Package kafka keeps the event log in Apache Kafka, or in whatever speaks its
// protocol. Topics are Kafka's topics and groups are its consumer groups, so
// that Kafka's own tools see, and agree on, all of it.
package kafka

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/internal/domain"
	"sluice/internal/refresh/eventlog"
)

// Options say where Kafka is and how patient to be.
type Options struct {
	// Brokers are the addresses (host:port) to find the cluster by; some of it
	// are enough.
	Brokers []string
	// URL names the brokers instead: kafka://host:port,host:port.
	URL string
	// Prefix is what the names of topics and groups begin with.
	Prefix string
	// Log is told of trouble; slog.Default() if nil.
	Log *slog.Logger
	// Limit is how long a call may wait for Kafka before it fails with code
	// unavailable; five seconds if zero.
	Limit time.Duration
	// SessionTimeout is how long a consumer may be silent before its partitions
	// are given to others; ten seconds if zero. Brokers refuse less than six
	// seconds unless they are configured to allow it.
	SessionTimeout time.Duration
	// RevokeWait is how long a partition that must be given up waits for what
	// was taken from it to be done; two seconds if zero.
	RevokeWait time.Duration
	// MaxWait caps how long Take blocks; eventlog.MaxWait if zero.
	MaxWait time.Duration
}

const (
	defaultLimit = 5 * time.Second
	// defaultSessionTimeout is short enough for the work of a dead process to run
	// elsewhere within 16 s: the others hear of its end a second later.
	defaultSessionTimeout = 10 * time.Second
	defaultRevokeWait     = 2 * time.Second
	// defaultPort is the port of a broker whose address has none.
	defaultPort = "9092"
	scheme      = "kafka://"
)

func (o Options) withDefaults() (Options, error) {
	if o.URL != "" {
		brokers, err := ParseURL(o.URL)
		if err != nil {
			return o, err
		}
		o.Brokers = brokers
	}
	if len(o.Brokers) == 0 {
		return o, domain.Errorf(domain.CodeInvalid, "kafka: no broker is named; use a URL like kafka://host:9092")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	for value, standard := range map[*time.Duration]time.Duration{
		&o.Limit: defaultLimit, &o.SessionTimeout: defaultSessionTimeout, &o.RevokeWait: defaultRevokeWait, &o.MaxWait: eventlog.MaxWait,
	} {
		if *value <= 0 {
			*value = standard
		}
	}
	return o, nil
}

// ParseURL returns the addresses of brokers that a URL such as
// kafka://one:9092,two names.
func ParseURL(text string) ([]string, error) {
	hosts, ok := strings.CutPrefix(text, scheme)
	hosts = strings.TrimSuffix(hosts, "/")
	if !ok || hosts == "" || strings.ContainsAny(hosts, "@/?#") {
		// The text may hold a password: it is not repeated.
		return nil, domain.Errorf(domain.CodeInvalid, "kafka: the URL must be like kafka://host:port,host:port, and nothing else")
	}
	brokers := strings.Split(hosts, ",")
	for i, broker := range brokers {
		u, err := url.Parse("//" + broker)
		if err != nil || u.Hostname() == "" {
			return nil, domain.Errorf(domain.CodeInvalid, "kafka: the URL names a broker that is no address (number %d)", i+1)
		}
		if u.Port() == "" {
			brokers[i] = broker + ":" + defaultPort
		}
	}
	return brokers, nil
}

// Log is the event log in Kafka.
type Log struct {
	options Options
	client  *kgo.Client
	admin   *kadm.Client
	oldest  *timestamps

	mu        sync.Mutex
	closed    bool
	consumers map[*consumer]bool
}

var _ eventlog.Log = (*Log)(nil)

// Open connects to Kafka and creates the topics that are missing.
func Open(ctx context.Context, options Options) (*Log, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(options.common(), producing(options)...)...)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "kafka: %w", err)
	}
	l := &Log{options: options, client: client, admin: kadm.NewClient(client), consumers: map[*consumer]bool{}}
	l.oldest = newTimestamps(options)
	if err := l.createTopics(ctx); err != nil {
		client.Close()
		return nil, err
	}
	return l, nil
}

// common is what all clients of Kafka are told. A broker that restarts is back
// within seconds; the library's own pauses are made for longer outages.
func (o Options) common() []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(o.Brokers...),
		kgo.ClientID("sluice"),
		kgo.WithLogger(logger{o.Log}),
		kgo.DialTimeout(o.Limit),
		kgo.MetadataMinAge(250 * time.Millisecond),
		kgo.RetryBackoffFn(backoff),
		kgo.DisableClientMetrics(),
	}
}

// backoff is the pause before a number of tries: from 50 ms to a second.
func backoff(tries int) time.Duration {
	const first, longest = 50 * time.Millisecond, time.Second
	return min(first<<min(tries, 5), longest)
}

// limited bounds a call: Kafka's own limits are long.
func (l *Log) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, l.options.Limit)
}

// bounded asks Kafka something and does not wait longer than ctx lasts. While
// the library makes a connection to a broker that hangs, it does not listen.
func bounded[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := ask()
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// topic is the name that Kafka knows a topic by.
func (o Options) topic(t eventlog.Topic) string { return o.Prefix + string(t) }

// group is the name that Kafka knows a group by. Two installations in one
// cluster have different topics, and must not share a group either.
func (o Options) group(name string) string { return o.Prefix + name }

// Check implements eventlog.Log.
func (l *Log) Check(ctx context.Context) error {
	if l.isClosed() {
		return errClosed()
	}
	limited, cancel := l.limited(ctx)
	defer cancel()
	brokers, err := bounded(limited, func() (int, error) {
		request := kmsg.NewPtrMetadataRequest()
		request.Topics = []kmsg.MetadataRequestTopic{}
		response, err := request.RequestWith(limited, l.client)
		if err != nil {
			return 0, err
		}
		return len(response.Brokers), nil
	})
	if err == nil && brokers == 0 {
		err = errors.New("the cluster has no brokers")
	}
	return failure(ctx, err)
}

// Close implements eventlog.Log.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	consumers := slices.Collect(maps.Keys(l.consumers))
	l.mu.Unlock()
	var leaving sync.WaitGroup
	errs := make([]error, len(consumers))
	for i, c := range consumers {
		leaving.Go(func() { errs[i] = c.Close(ctx) })
	}
	leaving.Wait()
	l.client.Close()
	return errors.Join(errs...)
}

func (l *Log) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func errClosed() error { return domain.Errorf(domain.CodeUnavailable, "the event log is closed") }

// failure tells what an error of Kafka means to callers: unless it was they who
// ended the call, it may work when it is tried again.
func failure(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return domain.Errorf(domain.CodeUnavailable, "kafka does not answer in time")
	}
	return domain.Errorf(domain.CodeUnavailable, "kafka: %w", err)
}

// logger passes on what the library says. Errors are outages that it deals
// with itself, and warnings their details.
type logger struct{ log *slog.Logger }

// Level implements kgo.Logger.
func (logger) Level() kgo.LogLevel { return kgo.LogLevelWarn }

// Log implements kgo.Logger.
func (l logger) Log(level kgo.LogLevel, message string, pairs ...any) {
	to := slog.LevelDebug
	if level == kgo.LogLevelError {
		to = slog.LevelWarn
	}
	l.log.Log(context.Background(), to, "kafka: "+message, pairs...)
}
