package wiring

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/backend/bucket"
	"sluice/internal/domain"
	"sluice/internal/sink"
	"sluice/internal/sink/hook"
	"sluice/internal/sink/lake"
	"sluice/internal/sink/targets"
	"sluice/internal/sink/topics"
	"sluice/internal/webhook"
)

// hookTimeout is how long a receiver may take for a batch.
const hookTimeout = time.Minute

// openTargets returns what opens targets by their URLs, with the kinds that need other
// parts of the program: files, Kafka, webhooks.
func (s *Service) openTargets(o Options, store hook.Store) (sink.Opener, error) {
	sender, err := webhook.New(o.Config.Webhooks(webhook.Options{Timeout: hookTimeout}))
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() error { sender.Close(); return nil })
	return func(name, address string) (sink.Target, string, sink.Options, error) {
		if err := elsewhere(address, o.Config.Service.DataDir); err != nil {
			return nil, "", sink.Options{}, err
		}
		hooked := func(u *url.URL) (sink.Target, error) {
			u.Scheme = strings.TrimPrefix(u.Scheme, "webhook+")
			if name == sink.SyncName {
				// What is carried once has no name of its own.
				sum := sha256.Sum256([]byte(u.String()))
				name += "-" + hex.EncodeToString(sum[:8])
			}
			return hook.New(hook.Options{Name: name, URL: u.String(), Sender: sender, Store: store, Now: o.Engine.Now}), nil
		}
		opened, err := targets.Open(address,
			targets.Kind{Name: "lake", Schemes: []string{"file", "s3", "gs"}, Example: "file:///DIR or s3://BUCKET/PREFIX?catalog=FILE",
				Open: func(u *url.URL) (sink.Target, error) { return openLake(u, o.Engine.Now) }},
			targets.Kind{Name: "kafka", Schemes: []string{"kafka"}, Example: "kafka://HOST:PORT,HOST:PORT/PREFIX", DropsDeleted: true,
				Open: func(u *url.URL) (sink.Target, error) { return openTopics(u, o) }},
			targets.Kind{Name: "webhook", Schemes: []string{"https", "http", "webhook+https", "webhook+http"}, Example: "https://HOST/PATH", Open: hooked})
		if err != nil {
			return nil, "", sink.Options{}, err
		}
		return opened.Target, opened.Kind, opened.Options, nil
	}, nil
}

// elsewhere refuses files in the service's own folder: what is carried there would lie
// between its tables.
func elsewhere(address, folder string) error {
	u, err := url.Parse(address)
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "the URL of the sink cannot be read")
	}
	if u.Scheme != "sqlite" && u.Scheme != "file" {
		return nil
	}
	path, err := url.PathUnescape(cmp.Or(u.Opaque, u.EscapedPath()))
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "the path in the sink's URL cannot be read")
	}
	own, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	if path == own || strings.HasPrefix(path, own+string(filepath.Separator)) {
		return domain.Errorf(domain.CodeInvalid, "%s is the service's own folder: name a sink's file or folder elsewhere", own)
	}
	return nil
}

// only refuses options that a kind of targets does not have, without quoting them.
func only(query url.Values, names ...string) error {
	for name := range query {
		if !slices.Contains(names, name) {
			return domain.Errorf(domain.CodeInvalid, "the URL of the sink has an option that is not known; besides raw and deleted there are %s", strings.Join(names, ", "))
		}
	}
	return nil
}

// plainCatalog is a lake without a DuckLake.
const plainCatalog = "none"

func openLake(u *url.URL, now func() time.Time) (sink.Target, error) {
	query := u.Query()
	known := []string{"catalog", "every", "keep"}
	if u.Scheme != "file" {
		known = append(known, "region", "endpoint")
	}
	if err := only(query, known...); err != nil {
		return nil, err
	}
	o := lake.Options{Now: now}
	for name, into := range map[string]*time.Duration{"every": &o.Every, "keep": &o.Keep} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return nil, domain.Errorf(domain.CodeInvalid, "the option %s of the sink's URL is not a duration; write it as 30s or 10m", name)
		}
		if *into = d; d == 0 {
			*into = -1
		}
	}
	catalog := query.Get("catalog")
	place, err := lakePlace(u, query, &o)
	if err != nil {
		return nil, err
	}
	switch {
	case catalog == plainCatalog && u.Scheme == "file":
		o.Lock = filepath.Join(place, "_sluice.lock")
	case catalog == plainCatalog:
	case catalog == "" && u.Scheme != "file":
		return nil, domain.Errorf(domain.CodeInvalid, "a lake in a bucket needs a catalogue on this machine: write catalog=/PATH/catalog.sqlite, or catalog=none for files without one")
	case catalog == "":
		o.Catalog = filepath.Join(place, "catalog.sqlite")
	case !filepath.IsAbs(catalog):
		return nil, domain.Errorf(domain.CodeInvalid, "the option catalog of the sink's URL is not a whole path; write it as /PATH/catalog.sqlite, or none")
	default:
		o.Catalog = catalog
	}
	if o.Catalog != "" {
		o.Lock = o.Catalog + ".lock"
	}
	if o.Files, err = bucket.Open(context.Background(), place); err != nil {
		return nil, err
	}
	return lake.New(o), nil
}

// lakePlace is where the files of a lake are, as the archive names such places.
func lakePlace(u *url.URL, query url.Values, o *lake.Options) (string, error) {
	if u.User != nil {
		return "", domain.Errorf(domain.CodeInvalid, "the URL of a lake has a password or a key in it; take it out, and give keys by the environment")
	}
	if u.Scheme == "file" {
		if u.Host != "" || !filepath.IsAbs(u.Path) {
			return "", domain.Errorf(domain.CodeInvalid, "the folder of a lake is named from the root: file:///PATH/FOLDER")
		}
		o.Place = strings.TrimSuffix(u.Path, "/") + "/"
		return filepath.Clean(u.Path), nil
	}
	prefix := strings.Trim(u.Path, "/")
	o.Place = u.Scheme + "://" + u.Host + "/"
	more := url.Values{}
	if prefix != "" {
		o.Place += prefix + "/"
		more.Set("prefix", prefix)
	}
	for _, name := range []string{"region", "endpoint"} {
		if value := query.Get(name); value != "" {
			more.Set(name, value)
		}
	}
	return u.Scheme + "://" + u.Host + "?" + more.Encode(), nil
}

func openTopics(u *url.URL, o Options) (sink.Target, error) {
	query := u.Query()
	if err := only(query, "partitions"); err != nil {
		return nil, err
	}
	if u.User != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the URL of a sink in Kafka has a user in it; take it out, and set --kafka-user and its password")
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix == "" || strings.Trim(prefix, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
		return nil, domain.Errorf(domain.CodeInvalid, "the URL of a sink in Kafka ends with what its topics begin with: kafka://HOST:PORT/PREFIX, of letters, digits, full stops, hyphens and underscores")
	}
	to := topics.Options{Prefix: prefix}
	if text := query.Get("partitions"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1000 {
			return nil, domain.Errorf(domain.CodeInvalid, "the option partitions of the sink's URL is a number from 1 to 1000")
		}
		to.Partitions = n
	}
	way := KafkaOptions(o.Config, o.Engine.Log)
	way.URL = "kafka://" + u.Host
	var err error
	if to.Client, err = way.Client(); err != nil {
		return nil, err
	}
	return topics.New(to), nil
}
