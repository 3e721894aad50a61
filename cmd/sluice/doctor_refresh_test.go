package main_test

import (
	"strings"
	"testing"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
	"sluice/internal/testkit/fakebucket"
	"sluice/internal/testkit/sluice"
)

func TestDoctorExaminesTheRefreshPipeline(t *testing.T) {
	u, g, bucket := sluice.NewUpstream(t, sim.Options{Accounts: 1}), sluice.SimulateGame(t), fakebucket.StartS3(t)
	env := []string{"SLUICE_GITHUB_URL=" + u.URL, "SLUICE_MAPLESTORY_URL=" + g.URL}
	for name, value := range fakebucket.Environment() {
		env = append(env, name+"="+value)
	}
	doctor := func(code int, more ...string) doctorJSON {
		t.Helper()
		return sluice.Decode[doctorJSON](t, sluice.Run(t, append(env, more...), "doctor", "--output", "json", "--data-dir", t.TempDir()).Expect(t, code).Out)
	}
	well := doctor(0, "SLUICE_MAPLESTORY_KEY=any", "SLUICE_KAFKA="+strings.Join(testkit.StartKafka(t).Brokers(), ","), "SLUICE_ARCHIVE="+bucket.Place(""))
	for what, says := range map[string]string{"refresh log": "update-priority-high", "archive": "can be listed", "MapleStory": "can be reached"} {
		if f := well.find(t, what); !f.OK || !strings.Contains(f.Detail, says) {
			t.Errorf("%s: %+v", what, f)
		}
	}
	if calls := g.Audit().Calls; calls != 0 {
		t.Errorf("looking cost %d calls", calls)
	}
	sick := doctor(1, "SLUICE_KAFKA=127.0.0.1:1", "SLUICE_ARCHIVE=s3://nosuch?region=x&endpoint=http://127.0.0.1:1")
	for _, what := range []string{"refresh log", "archive", "MapleStory"} {
		if f := sick.find(t, what); f.OK || f.Fix == "" || f.Detail == "" {
			t.Errorf("%s: %+v", what, f)
		}
	}
	if f := doctor(1, "SLUICE_ARCHIVE=/proc/nowhere/else").find(t, "MapleStory"); f.OK {
		t.Errorf("an archive without snapshots: %+v", f)
	}
}
