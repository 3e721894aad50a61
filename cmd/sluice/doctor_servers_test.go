package main_test

import (
	"strings"
	"testing"

	"sluice/internal/cli"
	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

type doctorJSON struct {
	OK       bool          `json:"ok"`
	Findings []cli.Finding `json:"findings"`
}

func (d doctorJSON) find(t *testing.T, what string) cli.Finding {
	t.Helper()
	for _, f := range d.Findings {
		if f.What == what {
			return f
		}
	}
	t.Fatalf("nothing is said about %q: %+v", what, d)
	return cli.Finding{}
}

func TestDoctorExaminesServers(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Accounts: 1})
	env := []string{
		"SLUICE_STATE=" + testkit.MariaDB(t), "SLUICE_REDIS=" + testkit.StartRedis(t).URL(),
		"SLUICE_MONGO=" + testkit.Mongo(t), "SLUICE_KEY_FILE=" + sluice.KeyFile(t), "SLUICE_GITHUB_URL=" + u.URL,
	}
	a := sluice.Run(t, env, "doctor", "--output", "json").Expect(t, 0)
	d := sluice.Decode[doctorJSON](t, a.Out)
	if state := d.find(t, "state"); !state.OK || !strings.Contains(state.Detail, "MariaDB") || !strings.Contains(state.Detail, "schema 0") {
		t.Errorf("state: %+v", state)
	}
	redis := d.find(t, "dispatch")
	if !redis.OK || !strings.Contains(redis.Detail, "Redis 7") || len(redis.Warnings) != 1 || !strings.Contains(redis.Warnings[0], "nothing is persisted") {
		t.Errorf("dispatch: %+v", redis)
	}
	if documents := d.find(t, "documents"); !documents.OK {
		t.Errorf("documents: %+v", documents)
	}
	text := sluice.Run(t, env, "doctor").Expect(t, 0).Out
	if !strings.Contains(text, "warn  dispatch") {
		t.Errorf("people are not warned:\n%s", text)
	}
	env[0] = "SLUICE_STATE=" + testkit.Postgres(t)
	d = sluice.Decode[doctorJSON](t, sluice.Run(t, env, "doctor", "--output", "json").Expect(t, 0).Out)
	state := d.find(t, "state")
	// The servers of the tests do not wait for the disk.
	if !state.OK || !strings.Contains(state.Detail, "postgres://sluice@") || !strings.Contains(state.Detail, "schema 0") || len(state.Warnings) != 1 || !strings.Contains(state.Warnings[0], "fsync") {
		t.Errorf("state: %+v", state)
	}
}

func TestDoctorNamesWhatIsMissing(t *testing.T) {
	gone := testkit.StartRedis(t)
	gone.Stop()
	env := []string{
		"SLUICE_STATE=mysql://sluice:hidden-password@127.0.0.1:1/sluice", "SLUICE_REDIS=" + gone.URL(),
		"SLUICE_MONGO=mongodb://sluice:hidden-password@127.0.0.1:1/sluice", "SLUICE_GITHUB_URL=http://127.0.0.1:1",
	}
	a := sluice.Run(t, env, "doctor", "--output", "json").Expect(t, 1)
	if strings.Contains(a.Out+a.Err, "hidden-password") {
		t.Errorf("a password is shown:\n%s%s", a.Out, a.Err)
	}
	d := sluice.Decode[doctorJSON](t, a.Out)
	for _, what := range []string{"configuration", "state", "dispatch", "documents"} {
		if f := d.find(t, what); f.OK || f.Fix == "" || f.Detail == "" {
			t.Errorf("%s: %+v", what, f)
		}
	}
}

func TestServersThatDoNotGoTogether(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"Redis alone":            {[]string{"up", "--redis", "redis://127.0.0.1:1"}, "--redis needs --state"},
		"database alone":         {[]string{"up", "--state", "mysql://root@127.0.0.1:1/x"}, "--state needs --redis"},
		"no key":                 {[]string{"up", "--state", "mysql://root@127.0.0.1:1/x", "--redis", "redis://127.0.0.1:1"}, "--key-file"},
		"password in the open":   {[]string{"up", "--state", "mysql://root:hidden@127.0.0.1:1/x"}, "@FILE or in SLUICE_STATE"},
		"password as parameter":  {[]string{"up", "--state", "postgres://root@127.0.0.1:1/x?password=hidden"}, "@FILE or in SLUICE_STATE"},
		"roles without servers":  {[]string{"up", "--roles", "worker"}, "without --state and --redis"},
		"a role that is none":    {[]string{"up", "--roles", "cook"}, `no role "cook"`},
		"a file that is missing": {[]string{"up", "--redis", "@/nowhere"}, "--redis: open /nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			a := sluice.Run(t, []string{"SLUICE_DATA_DIR=" + t.TempDir()}, append(c.args, "--addr", "127.0.0.1:0")...)
			a.Expect(t, 2, c.says)
			if strings.Contains(a.Err, "hidden") {
				t.Errorf("a password is shown: %s", a.Err)
			}
		})
	}
}
