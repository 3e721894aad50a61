package schedule_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"sluice/internal/domain"
	"sluice/internal/schedule"
)

func TestParseReadsWhatMarshalWrites(t *testing.T) {
	for _, text := range []string{
		`{}`,
		`{"off":true}`,
		`{"off":false,"every":"6h30m","spread":"0s"}`,
		`{"cron":"0 3 * * *","zone":"Asia/Seoul","quiet":"22:00-06:00 Europe/Berlin","after_success":"1m30s","after_failure":"1h","after_quota":"2s"}`,
		`{"cron":"@daily","zone":"UTC"}`,
		`{"cron":"*/15 8-18 * jan-mar MON-FRI"}`,
	} {
		p, err := schedule.Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		written, err := json.Marshal(p)
		if err != nil || string(written) != text {
			t.Errorf("%s was written as %s (%v)", text, written, err)
		}
		var again schedule.Policy
		asYAML, err := yaml.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(asYAML, &again); err != nil {
			t.Errorf("%s: %v", asYAML, err)
		}
		if written, _ := json.Marshal(again); string(written) != text {
			t.Errorf("%s became %s on its way through\n%s", text, written, asYAML)
		}
	}
	for _, nothing := range []string{"", " \n", "null", "{}"} {
		if p, err := schedule.Parse([]byte(nothing)); err != nil || p != (schedule.Policy{}) {
			t.Errorf("%q was read as %+v (%v)", nothing, p, err)
		}
	}
}

func TestYAMLAsPeopleWriteIt(t *testing.T) {
	var p schedule.Policy
	err := yaml.Unmarshal([]byte("every: 6h\nquiet: 22:00-06:00\nzone: Asia/Seoul\nafter_failure: 15m\noff: false\n"), &p)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(p)
	want := `{"off":false,"every":"6h","zone":"Asia/Seoul","quiet":"22:00-06:00","after_failure":"15m"}`
	if err != nil || string(written) != want {
		t.Errorf("%s (%v), want %s", written, err, want)
	}
}

// TestErrorsNameTheFix: a wrong policy is refused with words that help.
func TestErrorsNameTheFix(t *testing.T) {
	fields := []string{"minute (0-59)", "hour (0-23)", "day of month (1-31)", "month (1-12", "day of week (0-6"}
	for text, words := range map[string][]string{
		`{"cron":"0 3 * *"}`:                                  fields,
		`{"cron":"61 3 * * *"}`:                               fields,
		`{"cron":"0 3 * * * *"}`:                              fields,
		`{"cron":"@fortnightly"}`:                             {"@daily", "@weekly"},
		`{"cron":"@every 5m"}`:                                {"every"},
		`{"cron":"TZ=Asia/Seoul"}`:                            {"zone"},
		`{"cron":"CRON_TZ=Asia/Seoul 0 3 * * *"}`:             {"zone"},
		`{"cron":"0 0 31 2 *"}`:                               {"never fires"},
		`{"cron":", 3 * * *"}`:                                {"never fires"},
		`{"zone":"Mars/Olympus"}`:                             {"Mars/Olympus", "Asia/Seoul"},
		`{"zone":"../etc/passwd"}`:                            {"time zone"},
		`{"every":"59s"}`:                                     {"1m or more"},
		`{"every":"-6h"}`:                                     {"1m or more"},
		`{"every":"6h","cron":"@daily"}`:                      {"exclude", "leave one"},
		`{"every":"six hours"}`:                               {"six hours", "6h"},
		`{"every":6}`:                                         {"6h30m"},
		`{"spread":"-1s"}`:                                    {"spread", "0s"},
		`{"after_success":"-1s"}`:                             {"after_success", "0s"},
		`{"after_failure":"-1m"}`:                             {"after_failure", "0s"},
		`{"after_quota":"-1h"}`:                               {"after_quota", "0s"},
		`{"quiet":"06:00-06:00"}`:                             {"09:00-18:00"},
		`{"quiet":"00:00-23:59"}`:                             {"1m of the day", "at least 1h", "off"},
		`{"quiet":"06:30-06:00 Asia/Seoul"}`:                  {"30m of the day"},
		`{"quiet":"9-5"}`:                                     {"09:00-18:00"},
		`{"quiet":"22:00-06:00 Mars/Olympus"}`:                {"Mars/Olympus"},
		`{"evry":"6h"}`:                                       {"evry", "every"},
		`{"every":"6h"} {"every":"7h"}`:                       {"follows"},
		`{"every":"6h"`:                                       {"not a schedule"},
		`[]`:                                                  {"not a schedule"},
		`{"zone":"UTC","quiet":"22:00-06:00","cron":"0 3 *"}`: fields,
	} {
		p, err := schedule.Parse([]byte(text))
		if domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s was read as %+v (%v)", text, p, err)
			continue
		}
		for _, word := range words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: the error does not say %q: %v", text, word, err)
			}
		}
		// A policy within something else is read as strictly.
		var outer struct{ Schedule schedule.Policy }
		if err := json.Unmarshal([]byte(`{"schedule":`+text+`}`), &outer); err == nil {
			t.Errorf("%s was read within an object", text)
		}
	}
}

func TestQuietHoursMayLeaveAnHour(t *testing.T) {
	if _, err := schedule.Parse([]byte(`{"quiet":"03:00-02:00"}`)); err != nil {
		t.Error(err)
	}
}

func TestDurationsAreWrittenShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 30 * time.Second: "30s", 10 * time.Minute: "10m", 90 * time.Second: "1m30s", 10 * time.Hour: "10h",
		6*time.Hour + 30*time.Minute: "6h30m", time.Hour + time.Second: "1h0m1s", 100 * time.Millisecond: "100ms", -time.Hour: "-1h",
	} {
		if got := schedule.Duration(d).String(); got != want {
			t.Errorf("%v is written %s, want %s", d, got, want)
		}
	}
}

func TestOver(t *testing.T) {
	parse := func(text string) schedule.Policy {
		p, err := schedule.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return p
	}
	full := `{"off":true,"cron":"@daily","zone":"Asia/Seoul","quiet":"22:00-06:00","after_success":"1m","after_failure":"2m","after_quota":"3m","spread":"4m"}`
	for _, tc := range []struct{ over, base, want string }{
		{`{}`, full, full},
		{full, `{"off":false,"every":"1h","zone":"UTC","quiet":"01:00-02:00","after_success":"9m","after_failure":"9m","after_quota":"9m","spread":"9m"}`, full},
		{full, `{}`, full},
		{`{"off":false,"spread":"0s"}`, `{"off":true,"spread":"5m"}`, `{"off":false,"spread":"0s"}`},
		{`{"every":"1h"}`, `{"cron":"@daily","zone":"UTC"}`, `{"every":"1h","zone":"UTC"}`},
		{`{"cron":"@daily"}`, `{"every":"1h"}`, `{"cron":"@daily"}`},
		{`{"zone":"Asia/Seoul"}`, `{"cron":"@daily","zone":"UTC"}`, `{"cron":"@daily","zone":"Asia/Seoul"}`},
	} {
		merged := parse(tc.over).Over(parse(tc.base))
		if got, _ := json.Marshal(merged); string(got) != tc.want {
			t.Errorf("%s over %s is %s, want %s", tc.over, tc.base, got, tc.want)
		}
		if err := merged.Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestQuotaMargin(t *testing.T) {
	if got := (schedule.Policy{}).QuotaMargin(); got != schedule.DefaultAfterQuota {
		t.Errorf("left open it is %s", got)
	}
	if got := (schedule.Policy{AfterQuota: schedule.For(time.Minute)}).QuotaMargin(); got != time.Minute {
		t.Errorf("of a minute it is %s", got)
	}
}
