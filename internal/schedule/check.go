package schedule

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"sluice/internal/domain"
)

const (
	// shortest is the least time between the beginnings of two runs.
	shortest = time.Minute
	// leastFree is what quiet hours must leave of a day, so that a day on which
	// clocks change leaves something as well.
	leastFree = time.Hour
)

// Parse reads a policy as JSON and checks it. Nothing, and null, are the policy
// that leaves everything open.
func Parse(text []byte) (Policy, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return Policy{}, nil
	}
	// A type without UnmarshalJSON, which would come back here.
	type fields Policy
	var read fields
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&read)
	if err == nil && !errors.Is(decoder.Decode(&struct{}{}), io.EOF) {
		err = errors.New("something follows the object")
	}
	if err != nil {
		return Policy{}, domain.Errorf(domain.CodeInvalid, "this is not a schedule: %w; write an object of off, every, cron, zone, "+
			`quiet, after_success, after_failure, after_quota and spread, such as {"every": "6h30m"}`, err)
	}
	p := Policy(read)
	if err := p.Check(); err != nil {
		return Policy{}, err
	}
	return p, nil
}

// UnmarshalJSON implements json.Unmarshaler; it does what Parse does.
func (p *Policy) UnmarshalJSON(text []byte) (err error) {
	*p, err = Parse(text)
	return err
}

// Check reports the first thing that is wrong with a policy, and what to write
// instead. A policy merged of good ones may still be bad: its Zone may be one's
// and its Quiet another's.
func (p Policy) Check() error {
	if p.Every != 0 && p.Cron != "" {
		return domain.Errorf(domain.CodeInvalid, "every %s and cron %q exclude each other; leave one of them out", p.Every, p.Cron)
	}
	if p.Every != 0 && time.Duration(p.Every) < shortest {
		return domain.Errorf(domain.CodeInvalid, "every %s is too often; write %s or more", p.Every, Duration(shortest))
	}
	if err := p.checkDurations(); err != nil {
		return err
	}
	zone, err := p.location()
	if err != nil {
		return err
	}
	if p.Cron != "" {
		if _, err := parseCron(p.Cron, zone); err != nil {
			return err
		}
	}
	return p.checkQuiet()
}

func (p Policy) checkDurations() error {
	for _, field := range []struct {
		name  string
		value *Duration
	}{
		{"after_success", p.AfterSuccess},
		{"after_failure", p.AfterFailure},
		{"after_quota", p.AfterQuota},
		{"spread", p.Spread},
	} {
		if field.value != nil && *field.value < 0 {
			return domain.Errorf(domain.CodeInvalid, "%s is %s; it cannot be negative, write 0s for none", field.name, *field.value)
		}
	}
	return nil
}

func (p Policy) checkQuiet() error {
	if p.Quiet.IsZero() {
		return nil
	}
	if _, err := p.hours(); err != nil {
		return err
	}
	if free := 24*time.Hour - length(p.Quiet); free < leastFree {
		return domain.Errorf(domain.CodeInvalid, "quiet hours %s leave %s of the day; leave at least %s, or write \"off\": true for no runs at all",
			p.Quiet, Duration(free), Duration(leastFree))
	}
	return nil
}

// location returns the zone of the policy.
func (p Policy) location() (*time.Location, error) {
	if p.Zone == "" {
		return time.Local, nil
	}
	zone, err := time.LoadLocation(p.Zone)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "there is no time zone %q; write a name of the time zone database such as Asia/Seoul, or UTC", p.Zone)
	}
	return zone, nil
}

// zoneOf returns the zone that hours name themselves.
func zoneOf(h domain.Hours) (zone string, ok bool) {
	_, zone, ok = strings.Cut(h.String(), " ")
	return zone, ok
}

// length returns how much of a usual day hours take. They were parsed before,
// so their two times are good.
func length(h domain.Hours) time.Duration {
	span, _, _ := strings.Cut(h.String(), " ")
	from, to, _ := strings.Cut(span, "-")
	begin, _ := time.Parse("15:04", from)
	end, _ := time.Parse("15:04", to)
	if taken := end.Sub(begin); taken > 0 {
		return taken
	}
	return end.Sub(begin) + 24*time.Hour
}
