package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"sluice/internal/archive/bucket"
	"sluice/internal/cli"
	eventlogkafka "sluice/internal/refresh/eventlog/kafka"
)

// checkRefresh examines what keeps snapshots fresh, as far as it was configured.
func checkRefresh(ctx context.Context, m cli.MapleStory) (findings []cli.Finding) {
	if m.Kafka != "" {
		findings = append(findings, checkKafka(ctx, m.Kafka))
	}
	if m.Archive != "" {
		findings = append(findings, checkArchive(ctx, m.Archive))
	}
	if m.Key != "" {
		findings = append(findings, checkMapleStory(ctx, m.URL))
	} else if m.Kafka != "" || m.Archive != "" {
		findings = append(findings, cli.Finding{
			What: "MapleStory", Detail: "there is no API key, and so there are no snapshots", Fix: "set SLUICE_MAPLESTORY_KEY",
		})
	}
	return findings
}

// checkMapleStory connects to the API and asks nothing: every call counts.
func checkMapleStory(ctx context.Context, address string) cli.Finding {
	f := cli.Finding{What: "MapleStory", Fix: "check the network and --maplestory-url"}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		f.Detail = "--maplestory-url is no address of a server"
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	host := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80"}[u.Scheme], "443"))
	began := time.Now()
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	_ = connection.Close() // nothing was said
	f.OK, f.Detail = true, fmt.Sprintf("%s can be reached within %s", host, time.Since(began).Round(time.Millisecond))
	return f
}

// replicated is how many brokers it takes for a record to survive the loss of
// one.
const replicated = 3

func checkKafka(ctx context.Context, brokers string) cli.Finding {
	f := cli.Finding{What: "refresh log", Fix: "check --kafka, and that the brokers can be reached by the names they give themselves"}
	r, err := eventlogkafka.Examine(ctx, eventlogkafka.Options{URL: "kafka://" + brokers})
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	f.OK, f.Detail = true, fmt.Sprintf("Kafka at %s, brokers: %d", brokers, r.Brokers)
	if len(r.Missing) > 0 {
		f.Detail += "; created at the first start: " + strings.Join(r.Missing, ", ")
	}
	if len(r.Odd) > 0 {
		f.Warn("another number of partitions than usual: " + strings.Join(r.Odd, ", ") + "; harmless, but it bounds how many can work at once")
	}
	if r.Brokers < replicated {
		f.Warn("fewer than three brokers: topics that are created now keep one copy of a record for each broker there is, and a broker's disk that is lost takes requests along")
	}
	return f
}

// serverPatience is how long a server may take to answer.
const serverPatience = 10 * time.Second

func checkArchive(ctx context.Context, place string) cli.Finding {
	if !strings.Contains(place, "://") {
		f := checkFolder(place)
		f.What, f.Fix = "archive", "create the folder, make it writable, or give another with --archive"
		return f
	}
	f := cli.Finding{What: "archive", Fix: "check --archive, the bucket's name and region, and that the keys in the environment may list, read and write it"}
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	files, err := bucket.Open(ctx, place)
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	defer func() { _ = files.Close() }() // nothing was written
	scheme, rest, _ := strings.Cut(place, "://")
	name, _, _ := strings.Cut(rest, "?")
	// What the service's client says may hold an address with a token.
	if ok, err := files.IsAccessible(ctx); err != nil || !ok {
		f.Detail = scheme + "://" + name + " cannot be listed"
		return f
	}
	f.OK, f.Detail = true, scheme+"://"+name+" can be listed"
	return f
}
