package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"sluice/internal/backend/bucket"
	"sluice/internal/backend/kafka"
	"sluice/internal/cli"
	"sluice/internal/config"
	"sluice/internal/sources"
	"sluice/internal/wiring"
)

// checkRefresh examines what keeps snapshots fresh, as far as it was configured.
func checkRefresh(ctx context.Context, c config.Config) (findings []cli.Finding) {
	if c.Refresh.Kafka != "" {
		findings = append(findings, checkKafka(ctx, c))
	}
	if c.Refresh.Archive != "" {
		findings = append(findings, checkArchive(ctx, c.Refresh.Archive))
	}
	for _, r := range sources.All() {
		switch {
		case r.Records == nil:
		case r.Needs == "" || c.Sources.Text(r.Needs) != "":
			findings = append(findings, checkSource(ctx, r, c.Sources))
		case c.Refresh.Kafka != "" || c.Refresh.Archive != "":
			findings = append(findings, cli.Finding{
				What: r.Title, Detail: "there is no API key, so no snapshots are kept", Fix: "set " + config.EnvName(r.Needs),
			})
		}
	}
	return findings
}

// replicated is how many brokers it takes for a record to survive the loss of
// one.
const replicated = 3

func checkKafka(ctx context.Context, c config.Config) cli.Finding {
	brokers := c.Refresh.Kafka
	f := cli.Finding{What: "refresh log", Fix: "check --kafka, and that the brokers can be reached by the names they give themselves"}
	r, err := kafka.Examine(ctx, wiring.KafkaOptions(c, slog.New(slog.DiscardHandler)))
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	f.OK, f.Detail = true, fmt.Sprintf("Kafka at %s, brokers: %d", brokers, r.Brokers)
	if !c.Kafka.Encrypted() {
		f.Detail += ", without TLS"
	}
	if len(r.Missing) > 0 {
		f.Detail += "; created at the first start: " + strings.Join(r.Missing, ", ")
	}
	if len(r.Odd) > 0 {
		f.Warn("unexpected number of partitions: " + strings.Join(r.Odd, ", ") + "; harmless, but it limits how many can work at once")
	}
	if r.Brokers < replicated {
		f.Warn("fewer than three brokers: topics that are created now keep one copy of a record per broker, and losing a broker's disk may lose requests")
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
	scheme, rest, _ := strings.Cut(place, "://")
	name, _, _ := strings.Cut(rest, "?")
	for _, err := range files.List(ctx, "") {
		// What the service's client says may hold what is not for a log.
		if err != nil {
			f.Detail = scheme + "://" + name + " cannot be listed"
			return f
		}
		break
	}
	f.OK, f.Detail = true, scheme+"://"+name+" can be listed"
	return f
}
