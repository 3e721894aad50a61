package collection_test

import (
	"encoding/json"
	"os"
	"testing"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

// TestDryRunPricesACollection compares what a dry run says with what the
// collection then takes.
func TestDryRunPricesACollection(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 12, Accounts: 3})
	dir := t.TempDir() + "/data"
	dry := sluice.Run(t, nil, u.Collect(dir, "--dry-run")...)
	if dry.Code != 0 {
		t.Fatalf("exit %d: %s", dry.Code, dry.Err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the dry run left the data folder behind (%v)", err)
	}
	var forecast struct {
		Results []struct {
			Login    string
			Calls    int64
			Forecast struct {
				Discovering bool
				Left        int64 `json:"calls_left"`
			}
		}
	}
	if err := json.Unmarshal([]byte(dry.Out), &forecast); err != nil {
		t.Fatal(err)
	}
	asked := u.Audit().Calls
	u.ResetAudit()
	real := sluice.Run(t, nil, u.Collect(dir)...)
	if real.Code != 0 {
		t.Fatalf("exit %d: %s", real.Code, real.Err)
	}
	priced := int64(0)
	for _, r := range forecast.Results {
		if r.Forecast.Discovering || r.Forecast.Left == 0 {
			t.Errorf("%s: %+v", r.Login, r)
		}
		priced += r.Calls
	}
	took := int64(u.Audit().Calls)
	if diff := took - priced; diff < -took/10 || diff > took/10 {
		t.Errorf("the dry run priced it at %d calls; it took %d", priced, took)
	}
	if asked >= int(took)/2 {
		t.Errorf("the dry run itself took %d calls of %d", asked, took)
	}
}
