package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sluice/internal/quota"
	"sluice/internal/source"
)

// Name is how accounts refer to the source.
const Name = "github"

// The settings.
const (
	settingURL          = "github-url"
	settingHookSecret   = "github-hook-secret"
	settingCollaborator = "collaborator"
	settingContributed  = "contributed"
	settingOwnCommits   = "own-commits"
	settingNoGraphQL    = "no-graphql"
	settingInclude      = "include"
	settingResources    = "resources"
	settingExclude      = "exclude"
	settingForks        = "forks"
	settingArchived     = "archived"
	settingVisibility   = "visibility"
	settingSweepEvery   = "sweep-every"
)

// Register is what makes GitHub a source of the program.
func Register() source.Registration {
	return source.Registration{
		Description: Describe(),
		Walks:       func(s source.Settings) (source.Source, error) { return New(OptionsOf(s)) },
		Check:       check,
		Probe:       probe, Fix: "check the network and --" + settingURL,
	}
}

// check says what is wrong with settings, without showing what may hold a password.
func check(s source.Settings, report func(setting, format string, args ...any)) {
	if _, err := parseBase(strings.TrimRight(s.Text(settingURL), "/")); s.Text(settingURL) != "" && err != nil {
		report(settingURL, "--%s: %v", settingURL, err)
	}
	for _, name := range []string{settingInclude, settingExclude} {
		if f := (Filter{Include: patterns(s.Text(name))}); f.check() != "" {
			report(name, "--%s: %q is not a pattern; give one such as golang/* or *-docs", name, f.check())
		}
	}
	if _, unknown := resourcesOf(s.Text(settingResources)); unknown != "" {
		report(settingResources, "--%s: there is no resource %q; there are %s, and all, standard and none", settingResources, unknown, strings.Join(ResourceNames(), ", "))
	}
	if v := s.Text(settingVisibility); v != "" && v != "all" && v != "public" && v != "private" {
		report(settingVisibility, "--%s is %q; it must be all, public or private", settingVisibility, v)
	}
}

// Describe declares the source.
func Describe() source.Description {
	return source.Description{
		Name: Name, Title: "GitHub", Kinds: Kinds(), Rations: rations(), Concurrency: 100, Hook: hook(), Settings: settings(),
		Elsewhere: elsewhere, AppCredential: appCredential,
		Credential: "A GitHub App's\ncredential, " + appPrefix + "{…}, may stand in the place of a token.",
	}
}

// Name implements source.Source.
func (s *Source) Name() string { return Name }

// Describe implements source.Source.
func (s *Source) Describe() source.Description { return Describe() }

// rations are what GitHub grants a user.
func rations() []source.Ration {
	return []source.Ration{
		{Bucket: BucketCore, Kept: true, Limits: quota.Limits{Limit: 5000, Window: time.Hour, PointsPerMinute: 900}},
		{Bucket: BucketGraphQL, Kept: true, Limits: quota.Limits{Limit: 5000, Window: time.Hour, PointsPerMinute: 2000, PointsShared: true}},
		{Bucket: "search", Limits: quota.Limits{Limit: 30, Window: time.Minute, PointsPerMinute: 900}},
	}
}

func settings() []source.Setting {
	return []source.Setting{
		{Name: settingURL, Use: source.UseConnection, Default: "https://api.github.com",
			Help: "GitHub's API; https://HOST/api/v3 for Enterprise Server"},
		{Name: settingHookSecret, Use: source.UseHooks, Secret: true, Default: "",
			Help: "secret that GitHub signs its webhooks with, as @FILE; or set SLUICE_GITHUB_HOOK_SECRET"},
		{Name: settingCollaborator, Use: source.UseCollection, Default: false, Help: "also collect repositories that the account collaborates on"},
		{Name: settingContributed, Use: source.UseCollection, Default: false, Help: "also collect repositories that the account contributed to"},
		{Name: settingOwnCommits, Use: source.UseCollection, Default: false, Help: "collect the account's own commits only"},
		{Name: settingResources, Use: source.UseCollection, Default: standardResources, Help: resourceHelp()},
		{Name: settingInclude, Use: source.UseCollection, Default: "", Help: "collect only repositories that match, such as golang/*,*-docs; a pattern without a slash is for the name alone"},
		{Name: settingExclude, Use: source.UseCollection, Default: "", Help: "leave out repositories that match"},
		{Name: settingForks, Use: source.UseCollection, Default: true, Help: "collect forks too"},
		{Name: settingArchived, Use: source.UseCollection, Default: true, Help: "collect archived repositories too"},
		{Name: settingVisibility, Use: source.UseCollection, Default: "all", Help: "which repositories to collect: all, public or private"},
		{Name: settingNoGraphQL, Use: source.UseCollection, Default: false, Help: "collect by REST only, for servers without GraphQL"},
		{Name: settingSweepEvery, Use: source.UseCollection, Default: 7 * 24 * time.Hour, Help: "how often to look for deleted issues and pulls; negative means never"},
	}
}

// OptionsOf are the options that settings stand for.
func OptionsOf(s source.Settings) Options {
	return Options{
		Filter: filterOf(s), Resources: wantedResources(s),
		BaseURL: s.Text(settingURL), Collaborator: s.Bool(settingCollaborator), Contributed: s.Bool(settingContributed),
		OnlyOwnCommits: s.Bool(settingOwnCommits), NoGraphQL: s.Bool(settingNoGraphQL), SweepEvery: s.Duration(settingSweepEvery),
	}
}

// wantedResources are those that were set; one that does not exist is left to New,
// which refuses it.
func wantedResources(s source.Settings) []string {
	names, unknown := resourcesOf(s.Text(settingResources))
	if unknown != "" {
		return []string{unknown}
	}
	return names
}

func filterOf(s source.Settings) Filter {
	// What was not set at all is the zero of its type, not the default.
	unset := func(name string) bool { return s[name] == nil }
	f := Filter{
		Include: patterns(s.Text(settingInclude)), Exclude: patterns(s.Text(settingExclude)),
		NoForks: !unset(settingForks) && !s.Bool(settingForks), NoArchived: !unset(settingArchived) && !s.Bool(settingArchived),
	}
	if v := s.Text(settingVisibility); v != "all" {
		f.Visibility = v
	}
	return f
}

// probe asks for something that costs nothing.
func probe(ctx context.Context, s source.Settings) (string, error) {
	url := s.Text(settingURL)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/rate_limit", http.NoBody)
	if err != nil {
		return "", err
	}
	request.Header.Set("User-Agent", "sluice")
	began := time.Now()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	detail := fmt.Sprintf("%s answers in %s", url, time.Since(began).Round(time.Millisecond))
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		if skew := time.Until(date).Abs(); skew > 5*time.Second {
			detail += fmt.Sprintf("; the clocks differ by %s, which is compensated for", skew.Round(time.Second))
		}
	}
	return detail, nil
}
