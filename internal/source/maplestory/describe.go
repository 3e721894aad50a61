package maplestory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"sluice/internal/quota/rate"
	"sluice/internal/source"
)

// Name is how entities refer to the source.
const Name = "maplestory"

// The settings.
const (
	settingURL       = "maplestory-url"
	settingKey       = "maplestory-key"
	settingPerSecond = "maplestory-per-second"
	settingPerDay    = "maplestory-per-day"
	settingReserve   = "maplestory-reserve"
)

// What the key allows where nothing was set: the service level of the API.
const (
	defaultPerSecond = 500
	defaultPerDay    = 20_000_000
	defaultReserve   = 2_000_000
)

var _ source.Records = (*Source)(nil)

// Register is what makes MapleStory a source of the program, of keyed records.
func Register() source.Registration {
	return source.Registration{
		Description: source.Description{Name: Name, Title: "MapleStory", Settings: settings()},
		Records:     open, Needs: settingKey, Check: check,
		Probe: probe, Fix: "check the network and --" + settingURL,
	}
}

func settings() []source.Setting {
	return []source.Setting{
		{Name: settingURL, Use: source.UseRecords, Default: "https://open.api.nexon.com", Help: "the MapleStory API"},
		{Name: settingKey, Use: source.UseRecords, Secret: true, Default: "",
			Help: "its API key, as @FILE; or set SLUICE_MAPLESTORY_KEY; without one there are no snapshots"},
		{Name: settingPerSecond, Use: source.UseRecords, Default: defaultPerSecond, Help: "calls that the key allows in any second; a tenth of them is never used"},
		{Name: settingPerDay, Use: source.UseRecords, Default: int64(defaultPerDay), Help: "calls that the key allows in a day"},
		{Name: settingReserve, Use: source.UseRecords, Default: int64(defaultReserve), Help: "calls of a day that are kept for readers"},
	}
}

func open(s source.Settings) (source.Records, error) {
	limits, err := limitsOf(s.Int(settingPerSecond), s.Int64(settingPerDay), s.Int64(settingReserve))
	if err != nil {
		return nil, err
	}
	return New(Options{BaseURL: s.Text(settingURL), Key: s.Text(settingKey), Limits: limits})
}

// limitsOf keeps a tenth of the second away from the limit, as calls take
// different times to arrive: of 500 calls 450 are granted a second and 25 at once,
// of which LOW has 350.
func limitsOf(perSecond int, perDay, reserved int64) (rate.Limits, error) {
	// Days are Korea's.
	zone, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		return rate.Limits{}, err
	}
	part := func(percent int) int { return max(1, perSecond*percent/100) }
	// Of a small burst LOW leaves what it can.
	reserve := min(part(3), part(5)-1)
	l := rate.Limits{
		Hard: perSecond, Rate: part(90), Burst: part(5), LowRate: part(70), LowBurst: part(5), Reserve: reserve,
		Daily: perDay, DailyReserve: reserved, Zone: zone,
	}
	return l, l.Check()
}

// Name implements source.Records.
func (s *Source) Name() string { return Name }

// Limits implements source.Records.
func (s *Source) Limits() rate.Limits { return s.opt.Limits }

func check(s source.Settings, report func(setting, format string, args ...any)) {
	if _, err := parseBase(strings.TrimRight(s.Text(settingURL), "/")); s.Text(settingURL) != "" && err != nil {
		report(settingURL, "--%s: %v", settingURL, err)
	}
	if n := s.Int(settingPerSecond); n < 2 {
		report(settingPerSecond, "--%s is %d; it must be at least 2", settingPerSecond, n)
	}
	perDay, reserve := s.Int64(settingPerDay), s.Int64(settingReserve)
	switch {
	case perDay < 1:
		report(settingPerDay, "--%s is %d; it must be at least 1", settingPerDay, perDay)
	case reserve < 0 || reserve >= perDay:
		report(settingReserve, "--%s is %d; it must be less than --%s, which is %d", settingReserve, reserve, settingPerDay, perDay)
	}
}

// probePatience is how long a server may take to answer.
const probePatience = 10 * time.Second

var errNoAddress = errors.New("--" + settingURL + " is not the address of a server")

// probe connects to the API and asks nothing: every call counts.
func probe(ctx context.Context, s source.Settings) (string, error) {
	u, err := url.Parse(s.Text(settingURL))
	if err != nil || u.Hostname() == "" {
		return "", errNoAddress
	}
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	host := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80"}[u.Scheme], "443"))
	began := time.Now()
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return "", err
	}
	_ = connection.Close() // nothing was said
	return fmt.Sprintf("%s can be reached within %s", host, time.Since(began).Round(time.Millisecond)), nil
}
