package main_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"sluice/internal/config"
	"sluice/internal/testkit/sluice"
)

// What the manifests may say, and nothing else: a field that is not here is a
// mistake, or has to be looked up first.
type (
	labels   map[string]string
	metadata struct {
		Name                string
		Labels, Annotations labels
	}
	selector struct {
		MatchLabels labels `yaml:"matchLabels"`
	}
	probe struct {
		HTTPGet          struct{ Path, Port string } `yaml:"httpGet"`
		PeriodSeconds    int                         `yaml:"periodSeconds"`
		TimeoutSeconds   int                         `yaml:"timeoutSeconds"`
		FailureThreshold int                         `yaml:"failureThreshold"`
	}
	container struct {
		Name, Image string
		Args        []string
		Env         []struct{ Name, Value string }
		EnvFrom     []struct {
			ConfigMapRef struct{ Name string } `yaml:"configMapRef"`
		} `yaml:"envFrom"`
		Ports []struct {
			Name          string
			ContainerPort int `yaml:"containerPort"`
		}
		StartupProbe    probe `yaml:"startupProbe"`
		LivenessProbe   probe `yaml:"livenessProbe"`
		ReadinessProbe  probe `yaml:"readinessProbe"`
		Resources       struct{ Requests, Limits map[string]string }
		SecurityContext struct {
			AllowPrivilegeEscalation bool `yaml:"allowPrivilegeEscalation"`
			ReadOnlyRootFilesystem   bool `yaml:"readOnlyRootFilesystem"`
			Capabilities             struct{ Drop []string }
		} `yaml:"securityContext"`
		VolumeMounts []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
			ReadOnly  bool   `yaml:"readOnly"`
		} `yaml:"volumeMounts"`
	}
	podSpec struct {
		TerminationGracePeriodSeconds int   `yaml:"terminationGracePeriodSeconds"`
		AutomountServiceAccountToken  *bool `yaml:"automountServiceAccountToken"`
		SecurityContext               struct {
			RunAsNonRoot   bool                  `yaml:"runAsNonRoot"`
			RunAsUser      int                   `yaml:"runAsUser"`
			RunAsGroup     int                   `yaml:"runAsGroup"`
			FSGroup        int                   `yaml:"fsGroup"`
			SeccompProfile struct{ Type string } `yaml:"seccompProfile"`
		} `yaml:"securityContext"`
		TopologySpreadConstraints []struct {
			MaxSkew           int      `yaml:"maxSkew"`
			TopologyKey       string   `yaml:"topologyKey"`
			WhenUnsatisfiable string   `yaml:"whenUnsatisfiable"`
			LabelSelector     selector `yaml:"labelSelector"`
		} `yaml:"topologySpreadConstraints"`
		Containers []container
		Volumes    []struct {
			Name   string
			Secret struct {
				SecretName  string `yaml:"secretName"`
				DefaultMode int    `yaml:"defaultMode"`
			}
		}
	}
	object struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   metadata
		Data       map[string]string
		Spec       struct {
			ServiceName string `yaml:"serviceName"`
			Replicas    int
			// A Service selects by labels alone.
			Selector       yaml.Node
			MaxUnavailable int `yaml:"maxUnavailable"`
			Ports          []struct {
				Name       string
				Port       int
				TargetPort string `yaml:"targetPort"`
			}
			Template struct {
				Metadata metadata
				Spec     podSpec
			}
			VolumeClaimTemplates []struct {
				Metadata metadata
				Spec     struct {
					AccessModes []string `yaml:"accessModes"`
					Resources   struct{ Requests map[string]string }
				}
			} `yaml:"volumeClaimTemplates"`
		}
	}
)

func manifests(t *testing.T, path string) (all []object) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	for {
		var o object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, o)
	}
}

// TestManifestsFitTheProgram: what they start, set and ask is what the program
// knows; every set of processes has its budget, limits and probes.
func TestManifestsFitTheProgram(t *testing.T) {
	for file, workloads := range map[string]int{"single.yaml": 1, "several.yaml": 3} {
		t.Run(file, func(t *testing.T) {
			all := manifests(t, filepath.Join("../../deploy/kubernetes", file))
			versions := map[string]string{"Service": "v1", "ConfigMap": "v1", "StatefulSet": "apps/v1", "Deployment": "apps/v1", "PodDisruptionBudget": "policy/v1"}
			shared, budgets, found := map[string]string{}, map[string]labels{}, 0
			for _, o := range all {
				if versions[o.Kind] != o.APIVersion {
					t.Errorf("%s is of %s", o.Kind, o.APIVersion)
				}
				switch o.Kind {
				case "ConfigMap":
					shared = o.Data
				case "PodDisruptionBudget":
					budgets[o.Metadata.Name] = matches(t, o)
				}
			}
			for _, o := range all {
				if o.Kind != "Deployment" && o.Kind != "StatefulSet" {
					continue
				}
				found++
				if want := o.Spec.Template.Metadata.Labels; !maps.Equal(matches(t, o), want) || o.Kind == "Deployment" && !maps.Equal(budgets[o.Metadata.Name], want) {
					t.Errorf("%s does not select its own processes", o.Metadata.Name)
				}
				if o.Kind == "StatefulSet" && o.Spec.Replicas != 1 {
					t.Errorf("%s has %d processes on one data folder", o.Metadata.Name, o.Spec.Replicas)
				}
				checkPod(t, o.Spec.Template.Spec, shared)
			}
			if found != workloads {
				t.Errorf("there are %d workloads", found)
			}
		})
	}
}

// matches are the labels that an object selects by.
func matches(t *testing.T, o object) labels {
	t.Helper()
	var s selector
	if err := o.Spec.Selector.Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s.MatchLabels
}

func checkPod(t *testing.T, p podSpec, shared map[string]string) {
	t.Helper()
	c := p.Containers[0]
	sluice.Run(t, nil, append(c.Args, "--help")...).Expect(t, 0)
	variables := maps.Clone(shared)
	for _, e := range c.Env {
		variables[e.Name] = e.Value
	}
	for name, value := range variables {
		setting := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, config.EnvPrefix)), "_", "-")
		if _, known := config.Find(setting); !known {
			t.Errorf("%s is no setting", name)
		}
		if path, isFile := strings.CutPrefix(value, "@"); isFile && !strings.HasPrefix(path, c.VolumeMounts[len(c.VolumeMounts)-1].MountPath+"/") {
			t.Errorf("%s is not in the volume of secrets", path)
		}
	}
	if c.LivenessProbe.HTTPGet.Path != "/livez" || c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.StartupProbe.HTTPGet.Path != "/livez" {
		t.Errorf("it is probed by %+v, %+v", c.LivenessProbe, c.ReadinessProbe)
	}
	s := c.SecurityContext
	if s.AllowPrivilegeEscalation || !s.ReadOnlyRootFilesystem || !p.SecurityContext.RunAsNonRoot || p.AutomountServiceAccountToken == nil || *p.AutomountServiceAccountToken {
		t.Errorf("it may do more than it needs: %+v %+v", s, p.SecurityContext)
	}
	if p.TerminationGracePeriodSeconds <= 30 || c.Resources.Requests["memory"] == "" || c.Resources.Limits["memory"] == "" {
		t.Errorf("%s has no limits, or no time to stop", c.Args)
	}
}

// TestSystemdUnit: systemd understands the unit, wherever systemd is.
func TestSystemdUnit(t *testing.T) {
	const unit = "../../deploy/systemd/sluice.service"
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nExecStart=/usr/bin/sluice up\n", "\nProtectSystem=strict\n", "\nNoNewPrivileges=yes\n", "\nStateDirectory=sluice\n", "\nLoadCredential=api.token:"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it does not say %q", want)
		}
	}
	for line := range strings.Lines(string(text)) {
		variable, isSetting := strings.CutPrefix(strings.TrimSpace(line), "Environment=SLUICE_")
		name, _, _ := strings.Cut(variable, "=")
		if _, known := config.Find(strings.ReplaceAll(strings.ToLower(name), "_", "-")); isSetting && !known {
			t.Errorf("%s is no setting", name)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd is not here, so that only the words were looked at")
		return
	}
	// The program is where a package puts it, which is not here.
	here := filepath.Join(t.TempDir(), "sluice.service")
	if err := os.WriteFile(here, bytes.ReplaceAll(text, []byte("/usr/bin/sluice"), []byte(sluice.Binary)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", here).CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
