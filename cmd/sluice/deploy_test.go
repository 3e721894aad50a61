package main_test

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"sluice/internal/testkit/sluice"
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
		help := sluice.Run(t, nil, append(s.Command, "--help")...).Expect(t, 0).Out
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

// TestDeploymentOnPostgres: what replaces MariaDB is waited for by everybody who
// waited for that, and has the secrets that it uses.
func TestDeploymentOnPostgres(t *testing.T) {
	type composition struct {
		Services map[string]struct {
			Image     string
			Secrets   []string
			DependsOn map[string]any `yaml:"depends_on"`
		}
		Secrets map[string]struct{ File string }
	}
	var base, other composition
	for file, into := range map[string]*composition{"compose.yaml": &base, "compose.postgres.yaml": &other} {
		text, err := os.ReadFile("../../deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	for name, s := range base.Services {
		if _, waits := s.DependsOn["mariadb"]; !waits {
			continue
		}
		instead := other.Services[name].DependsOn
		for on := range s.DependsOn {
			if on == "mariadb" {
				on = "postgres"
			}
			if instead[on] == nil {
				t.Errorf("%s does not wait for %s", name, on)
			}
		}
		if instead["mariadb"] != nil {
			t.Errorf("%s waits for MariaDB", name)
		}
	}
	server := other.Services["postgres"]
	if server.Image == "" || len(server.Secrets) == 0 {
		t.Errorf("the server is %+v", server)
	}
	for _, secret := range server.Secrets {
		if other.Secrets[secret].File == "" {
			t.Errorf("the secret %s is not there", secret)
		}
	}
}

func TestHealth(t *testing.T) {
	p := sluice.Start(t, nil, "up", "--data-dir", t.TempDir(), "--addr", "127.0.0.1:0")
	_, url, _ := strings.Cut(p.Says("sluice serves "), "sluice serves ")
	url, _, _ = strings.Cut(url, "/api/v1")
	if a := sluice.Run(t, nil, "health", "--server", url).Expect(t, 0); !strings.Contains(a.Out, "is ready") {
		t.Errorf("health says %q", a.Out)
	}
	sluice.Run(t, []string{"SLUICE_ADDR=0.0.0.0" + url[strings.LastIndex(url, ":"):]}, "health").Expect(t, 0)
	p.Signal(os.Interrupt)
	p.Ends()
	sluice.Run(t, nil, "health", "--server", url).Expect(t, 1, "refused")
}
