package watching_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"sluice/internal/testkit"
)

type source struct{ Type, UID string }

type dashboard struct {
	UID, Title string
	Tags       []string
	Templating struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
	Panels []panel
}

type panel struct {
	ID          int
	Type, Title string
	Datasource  source
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct {
		RefID, Expr, LegendFormat string
		Datasource                source
	}
}

// dashboards reads all of them, by file.
func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(deployed + "grafana/dashboards/*.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("the dashboards are %v, %v", files, err)
	}
	all := map[string]dashboard{}
	for _, file := range files {
		var d dashboard
		if err := json.Unmarshal([]byte(readFile(t, file)), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = d
	}
	return all
}

// variable is the source that the reader of a dashboard chooses.
var variable = source{"prometheus", "${datasource}"}

func TestDashboards(t *testing.T) {
	uids := map[string]string{}
	all := dashboards(t)
	for _, name := range []string{"collection", "refresh", "timers", "infrastructure"} {
		if _, there := all[name]; !there {
			t.Errorf("there is no dashboard %s", name)
		}
	}
	for name, d := range all {
		if d.UID == "" || uids[d.UID] != "" || d.Title == "" || !slices.Contains(d.Tags, "sluice") {
			t.Errorf("%s is %q (%q) like %q, with the tags %v", name, d.UID, d.Title, uids[d.UID], d.Tags)
		}
		uids[d.UID] = name
		if len(d.Templating.List) == 0 || d.Templating.List[0].Name != "datasource" || d.Templating.List[0].Type != "datasource" || d.Templating.List[0].Query != "prometheus" {
			t.Errorf("on %s nobody can choose a Prometheus: %+v", name, d.Templating.List)
		}
		known := []string{"__rate_interval"} // Grafana's own
		for _, v := range d.Templating.List {
			known = append(known, v.Name)
		}
		checkPanels(t, name, d.Panels, known)
	}
}

// checkPanels: each has an id of its own, a place of its own, and asks for what
// there is.
func checkPanels(t *testing.T, name string, panels []panel, known []string) {
	t.Helper()
	ids, places := map[int]bool{}, map[[2]int]string{}
	for _, p := range panels {
		if p.ID == 0 || ids[p.ID] {
			t.Errorf("%s: the panel %q has the id %d, which another has", name, p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := places[[2]int{x, y}]; other != "" || x >= 24 {
					t.Errorf("%s: %q lies on %q", name, p.Title, other)
				}
				places[[2]int{x, y}] = p.Title
			}
		}
		if p.Title == "" || p.Type != "row" && (p.Datasource != variable || len(p.Targets) == 0) {
			t.Errorf("%s: the panel %q asks %+v for %d things", name, p.Title, p.Datasource, len(p.Targets))
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			if target.RefID == "" || refs[target.RefID] || target.Datasource != variable || target.LegendFormat == "" {
				t.Errorf("%s: %q has the target %+v", name, p.Title, target)
			}
			refs[target.RefID] = true
			checkVariables(t, name+": "+p.Title, target.Expr+target.LegendFormat, known)
			checkExpression(t, name+": "+p.Title, target.Expr)
		}
	}
}

var variables = regexp.MustCompile(`\$\{?(\w+)`)

// checkVariables demands that whatever a panel leaves to the reader can be chosen.
func checkVariables(t *testing.T, where, text string, known []string) {
	t.Helper()
	for _, match := range variables.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(known, match[1]) {
			t.Errorf("%s: nobody can choose $%s", where, match[1])
		}
	}
}

// filledIn is an expression as Grafana would ask for it.
func filledIn(expression string) string {
	return strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*").Replace(expression)
}

// TestExpressions has promtool parse what the dashboards ask for, as rules.
func TestExpressions(t *testing.T) {
	type recording struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var asked []recording
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				asked = append(asked, recording{"asked", filledIn(target.Expr)})
			}
		}
	}
	// Rules with one name must be told apart by a label; this is about syntax.
	for i := range asked {
		asked[i].Record = "asked:" + strings.Repeat("a", i+1)
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboards", "rules": asked}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "asked.yml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), testkit.Promtool(t), "check", "rules", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "SUCCESS") {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// TestWatchingIsDeployed: what the composition mounts is there, is where the programs
// look for it, and Prometheus understands its configuration.
func TestWatchingIsDeployed(t *testing.T) {
	var composition struct {
		Services map[string]struct {
			Image   string
			Volumes []string
			Secrets []string
		}
		Secrets, Volumes map[string]any
	}
	decode(t, "compose.watch.yaml", &composition)
	var base struct {
		Services, Secrets map[string]any
	}
	decode(t, "compose.yaml", &base)
	mounted := map[string]string{}
	for name, s := range composition.Services {
		if !strings.Contains(s.Image, ":") {
			t.Errorf("%s is any version of %s", name, s.Image)
		}
		for _, secret := range s.Secrets {
			if composition.Secrets[secret] == nil && base.Secrets[secret] == nil {
				t.Errorf("%s uses the secret %s, which is not there", name, secret)
			}
		}
		for _, volume := range s.Volumes {
			from, rest, _ := strings.Cut(volume, ":")
			to, _, _ := strings.Cut(rest, ":")
			if !strings.HasPrefix(from, "./") {
				if _, there := composition.Volumes[from]; !there {
					t.Errorf("%s uses the volume %s, which is not there", name, from)
				}
				continue
			}
			if _, err := os.Stat(deployed + from); err != nil {
				t.Errorf("%s mounts %s: %v", name, from, err)
			}
			mounted[strings.TrimPrefix(from, "./")] = to
		}
	}
	var provider struct {
		Providers []struct{ Options struct{ Path string } }
	}
	decode(t, "grafana/provisioning/dashboards/sluice.yaml", &provider)
	if len(provider.Providers) != 1 || provider.Providers[0].Options.Path != mounted["grafana/dashboards"] {
		t.Errorf("Grafana looks for dashboards in %+v, and they are in %s", provider, mounted["grafana/dashboards"])
	}
	var sources struct {
		Datasources []struct{ Type, URL string }
	}
	decode(t, "grafana/provisioning/datasources/prometheus.yaml", &sources)
	if len(sources.Datasources) != 1 || sources.Datasources[0].URL != "http://prometheus:9090" || composition.Services["prometheus"].Image == "" {
		t.Errorf("Grafana asks %+v", sources)
	}
	checkTargets(t, slices.Collect(maps.Keys(base.Services)))
}

// checkTargets: Prometheus watches every kind of process that there is.
func checkTargets(t *testing.T, services []string) {
	t.Helper()
	var config struct {
		ScrapeConfigs []struct {
			JobName string `yaml:"job_name"`
			DNS     []struct {
				Names []string
				Port  int
			} `yaml:"dns_sd_configs"`
		} `yaml:"scrape_configs"`
	}
	decode(t, "prometheus/prometheus.yml", &config)
	if len(config.ScrapeConfigs) != 1 || config.ScrapeConfigs[0].JobName != "sluice" || len(config.ScrapeConfigs[0].DNS) != 1 {
		t.Fatalf("Prometheus watches %+v", config)
	}
	for _, name := range []string{"api", "worker", "scheduler", "refresh"} {
		if !slices.Contains(services, name) || !slices.Contains(config.ScrapeConfigs[0].DNS[0].Names, name) {
			t.Errorf("%s is not watched: there are %v, and watched are %v", name, services, config.ScrapeConfigs[0].DNS[0].Names)
		}
	}
	out, err := exec.CommandContext(t.Context(), testkit.Promtool(t), "check", "config", "--syntax-only", deployed+"prometheus/prometheus.yml").CombinedOutput()
	if err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

func decode(t *testing.T, file string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(readFile(t, deployed+file)), into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
