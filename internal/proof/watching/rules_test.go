package watching_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"sluice/internal/metrics"
	"sluice/internal/testkit"
)

const rulesFile, rulesTests = deployed + "prometheus/rules.yml", deployed + "prometheus/rules_test.yml"

type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

// rules reads the alerts.
func rules(t *testing.T) (all []rule) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	if err := yaml.Unmarshal([]byte(readFile(t, rulesFile)), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 30 {
		t.Fatalf("there are %d alerts", len(all))
	}
	return all
}

// TestRules has promtool check the alerts and try each of them.
func TestRules(t *testing.T) {
	promtool := testkit.Promtool(t)
	for _, args := range [][]string{{"check", "rules", rulesFile}, {"test", "rules", rulesTests}} {
		out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "SUCCESS") {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestRulesAreTriedAndExplained: each alert has a case in which it fires and one in
// which it does not, says how urgent it is and what to do, and has a section of
// the runbook.
func TestRulesAreTriedAndExplained(t *testing.T) {
	fires, quiet := tried(t)
	runbook := readFile(t, "../../../docs/runbook.md")
	sections := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (\w+)$`).FindAllStringSubmatch(runbook, -1) {
		sections[strings.ToLower(heading[1])] = true
	}
	named := map[string]bool{}
	for _, r := range rules(t) {
		if named[r.Alert] {
			t.Errorf("%s is there twice", r.Alert)
		}
		named[r.Alert] = true
		if !fires[r.Alert] || !quiet[r.Alert] {
			t.Errorf("%s is tried so that it fires: %v, so that it does not: %v", r.Alert, fires[r.Alert], quiet[r.Alert])
		}
		switch r.Labels["severity"] {
		case "critical", "warning", "info":
		default:
			t.Errorf("%s is %q", r.Alert, r.Labels["severity"])
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s does not say what happens and what to do: %v", r.Alert, r.Annotations)
		}
		page, section, _ := strings.Cut(r.Annotations["runbook"], "#")
		if page != "docs/runbook.md" || !sections[section] {
			t.Errorf("%s leads to %q, which is no section of the runbook", r.Alert, r.Annotations["runbook"])
		}
	}
	for section := range sections {
		if name := strings.TrimPrefix(section, "sluice"); name != section && !mentions(named, section) {
			t.Errorf("the runbook has a section %s, and there is no such alert", section)
		}
	}
}

// tried reads which alerts are tried so that they fire, and so that they do not.
func tried(t *testing.T) (fires, quiet map[string]bool) {
	t.Helper()
	var file struct {
		Tests []struct {
			Expressions []struct {
				Expr    string
				Samples []any `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	if err := yaml.Unmarshal([]byte(readFile(t, rulesTests)), &file); err != nil {
		t.Fatal(err)
	}
	fires, quiet = map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, e := range test.Expressions {
			_, rest, _ := strings.Cut(e.Expr, `ALERTS{alertname="`)
			name, rest, _ := strings.Cut(rest, `"`)
			if !strings.HasPrefix(rest, `, alertstate="firing"}`) {
				t.Errorf("%s is not about an alert that fires", e.Expr)
			}
			fires[name], quiet[name] = fires[name] || len(e.Samples) > 0, quiet[name] || len(e.Samples) == 0
		}
	}
	return fires, quiet
}

func mentions(named map[string]bool, section string) bool {
	for name := range named {
		if strings.EqualFold(name, section) {
			return true
		}
	}
	return false
}

// named finds the metrics in an expression.
var named = regexp.MustCompile(`\bsluice_[a-z_]+`)

// families are the metrics of an expression, without what a histogram adds.
func families(declared map[string]metrics.Metric, expression string) (out []string) {
	for _, name := range named.FindAllString(expression, -1) {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base := strings.TrimSuffix(name, suffix); declared[base].Kind == metrics.Histogram {
				name = base
			}
		}
		out = append(out, name)
	}
	return out
}

// declaredMetrics are all that the program declares.
func declaredMetrics() map[string]metrics.Metric {
	all := map[string]metrics.Metric{}
	for _, s := range metrics.Declared() {
		for _, m := range s.Metrics {
			all[m.Name] = m
		}
	}
	return all
}

// aggregation is a function over series, with the labels that it keeps.
var aggregation = regexp.MustCompile(`\b(sum|max|min)(?: by \(([^)]*)\))? ?\((?:rate\(|increase\()?(sluice_[a-z_]+)`)

// TestRulesNameMetrics: what alerts ask for is declared, with the labels that they
// choose by; what processes share is not added up.
func TestRulesNameMetrics(t *testing.T) {
	for _, r := range rules(t) {
		checkExpression(t, r.Alert, r.Expr)
	}
}

// chosen finds metrics with the labels that they are chosen by.
var chosen = regexp.MustCompile(`\b(sluice_[a-z_]+)\{([^}]*)\}`)

func checkExpression(t *testing.T, where, expression string) {
	t.Helper()
	all := declaredMetrics()
	for _, name := range families(all, expression) {
		if _, ok := all[name]; !ok {
			t.Errorf("%s asks for %s, which is not declared", where, name)
		}
	}
	has := func(name, label string) bool {
		if label = strings.TrimSpace(label); label == "" || label == "instance" || label == "job" || label == "le" {
			return true
		}
		for _, family := range families(all, name) {
			for _, known := range all[family].Labels {
				if known == label {
					return true
				}
			}
		}
		return false
	}
	for _, match := range chosen.FindAllStringSubmatch(expression, -1) {
		for _, pair := range strings.Split(match[2], ",") {
			label := regexp.MustCompile(`^\s*\w+`).FindString(pair)
			if !has(match[1], label) {
				t.Errorf("%s chooses %s by %q, which it does not have", where, match[1], label)
			}
		}
	}
	for _, match := range aggregation.FindAllStringSubmatch(expression, -1) {
		for _, label := range strings.Split(match[2], ",") {
			if !has(match[3], label) {
				t.Errorf("%s keeps %q of %s, which it does not have", where, label, match[3])
			}
		}
		for _, family := range families(all, match[3]) {
			if match[1] == "sum" && all[family].Scope == metrics.Shared {
				t.Errorf("%s adds up %s, which every process tells alike: take max", where, family)
			}
		}
	}
}
