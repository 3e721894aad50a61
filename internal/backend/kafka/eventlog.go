// Package kafka keeps the event log in Apache Kafka, or in whatever speaks its
// protocol. Topics are Kafka's topics and groups are its consumer groups, so
// that Kafka's own tools see, and agree on, all of it.
//
//	eventlog*.go  EventLog, an refresh.EventLog
//	examine.go    what a cluster looks like before it is used
//	security.go   how brokers and this client prove who they are
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

	"sluice/internal/backoff"
	"sluice/internal/domain"
	"sluice/internal/refresh"
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
	// Security is how brokers and this client prove who they are.
	Security Security
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
	// MaxWait caps how long Take blocks; refresh.MaxTakeWait if zero.
	MaxWait time.Duration

	// secured is what Security means to the library.
	secured []kgo.Opt
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
		&o.Limit: defaultLimit, &o.SessionTimeout: defaultSessionTimeout, &o.RevokeWait: defaultRevokeWait, &o.MaxWait: refresh.MaxTakeWait,
	} {
		if *value <= 0 {
			*value = standard
		}
	}
	var err error
	o.secured, err = o.Security.secured()
	return o, err
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
			return nil, domain.Errorf(domain.CodeInvalid, "kafka: broker %d of the URL is not an address", i+1)
		}
		if u.Port() == "" {
			brokers[i] = broker + ":" + defaultPort
		}
	}
	return brokers, nil
}

// EventLog is the event log in Kafka.
type EventLog struct {
	options Options
	client  *kgo.Client
	admin   *kadm.Client
	oldest  *timestamps

	mu        sync.Mutex
	closed    bool
	consumers map[*consumer]bool
}

var _ refresh.EventLog = (*EventLog)(nil)

// NewEventLog connects to Kafka and creates the topics that are missing.
func NewEventLog(ctx context.Context, options Options) (*EventLog, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := options.shakeHands(ctx); err != nil {
		return nil, err
	}
	batches, err := newCompressor()
	if err != nil {
		return nil, domain.Errorf(domain.CodeInternal, "prepare compression: %w", err)
	}
	client, err := kgo.NewClient(append(options.common(), producing(options, batches)...)...)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "kafka: %w", err)
	}
	l := &EventLog{options: options, client: client, admin: kadm.NewClient(client), consumers: map[*consumer]bool{}}
	l.oldest = newTimestamps(options)
	if err := l.createTopics(ctx); err != nil {
		client.Close()
		return nil, explain(err)
	}
	return l, nil
}

// common is what all clients of Kafka are told. A broker that restarts is back
// within seconds; the library's own pauses are made for longer outages.
func (o Options) common() []kgo.Opt {
	return append([]kgo.Opt{
		kgo.SeedBrokers(o.Brokers...),
		kgo.ClientID("sluice"),
		kgo.WithLogger(logger{o.Log}),
		kgo.DialTimeout(o.Limit),
		kgo.MetadataMinAge(250 * time.Millisecond),
		kgo.RetryBackoffFn(requestDelays.Delay),
		kgo.DisableClientMetrics(),
	}, o.secured...)
}

// Client is what a client of Kafka is told that is not the event log's: where brokers
// are, how it proves who it is, and how patient it is.
func (o Options) Client() ([]kgo.Opt, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return o.common(), nil
}

// requestDelays are the pauses before a request is tried again.
var requestDelays = backoff.Delays{First: 50 * time.Millisecond, Longest: time.Second}

// limited bounds a call: Kafka's own limits are long.
func (l *EventLog) limited(ctx context.Context) (context.Context, context.CancelFunc) {
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
func (o Options) topic(t refresh.Topic) string { return o.Prefix + string(t) }

// group is the name that Kafka knows a group by. Two installations in one
// cluster have different topics, and must not share a group either.
func (o Options) group(name string) string { return o.Prefix + name }

// Lasting implements refresh.EventLog: records are not where the snapshots are.
func (l *EventLog) Lasting() bool { return false }

// Epoch implements refresh.EventLog. It is another when the topic was made anew, or
// the cluster is another one.
func (l *EventLog) Epoch(ctx context.Context, topic refresh.Topic) (string, error) {
	if l.isClosed() {
		return "", errClosed()
	}
	limited, cancel := l.limited(ctx)
	defer cancel()
	name := l.options.topic(topic)
	epoch, err := bounded(limited, func() (string, error) {
		metadata, err := l.admin.Metadata(limited, name)
		if err != nil {
			return "", err
		}
		if err := metadata.Topics.Error(); err != nil {
			return "", err
		}
		return "kafka " + metadata.Cluster + " " + name + " " + metadata.Topics[name].ID.String(), nil
	})
	return epoch, failure(ctx, err)
}

// Check implements refresh.EventLog.
func (l *EventLog) Check(ctx context.Context) error {
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

// Close implements refresh.EventLog.
func (l *EventLog) Close(ctx context.Context) error {
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

func (l *EventLog) isClosed() bool {
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
	to := l.log.Debug
	if level == kgo.LogLevelError {
		to = l.log.Warn
	}
	to("kafka: "+message, pairs...)
}
