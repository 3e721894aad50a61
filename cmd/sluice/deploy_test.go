package main_test

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDeploymentFitsTheProgram: the commands and settings of the composition
// are ones that the program knows. It stands in for starting the containers,
// for which there may be no engine here.
func TestDeploymentFitsTheProgram(t *testing.T) {
	text, err := os.ReadFile("../../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var composition struct {
		Services map[string]struct {
			Image       string
			Command     []string
			Environment map[string]string
			Secrets     []string
			Build       struct{ Dockerfile string }
		}
		Secrets map[string]struct{ File string }
	}
	if err := yaml.Unmarshal(text, &composition); err != nil {
		t.Fatal(err)
	}
	roles := map[string]bool{}
	for name, s := range composition.Services {
		for _, secret := range s.Secrets {
			if composition.Secrets[secret].File == "" {
				t.Errorf("%s uses the secret %s, which is not there", name, secret)
			}
		}
		if s.Image != "sluice" {
			continue
		}
		help := sluice(t, nil, append(s.Command, "--help")...).expect(t, 0).out
		for variable := range s.Environment {
			flag := "--" + strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, "SLUICE_")), "_", "-")
			if !strings.Contains(help, flag+" ") {
				t.Errorf("%s sets %s, but there is no %s", name, variable, flag)
			}
		}
		for i, arg := range s.Command {
			if arg == "--roles" {
				roles[s.Command[i+1]] = true
			}
		}
		if _, err := os.Stat("../../" + s.Build.Dockerfile); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, role := range []string{"api", "worker", "scheduler", "refresh"} {
		if !roles[role] {
			t.Errorf("nobody has the role %s", role)
		}
	}
}

func TestHealth(t *testing.T) {
	p := start(t, nil, "up", "--data-dir", t.TempDir(), "--addr", "127.0.0.1:0")
	_, url, _ := strings.Cut(p.says("sluice serves "), "sluice serves ")
	url, _, _ = strings.Cut(url, "/api/v1")
	if a := sluice(t, nil, "health", "--server", url).expect(t, 0); !strings.Contains(a.out, "is ready") {
		t.Errorf("health says %q", a.out)
	}
	sluice(t, []string{"SLUICE_ADDR=0.0.0.0" + url[strings.LastIndex(url, ":"):]}, "health").expect(t, 0)
	p.signal(os.Interrupt)
	p.ends()
	sluice(t, nil, "health", "--server", url).expect(t, 1, "refused")
}
