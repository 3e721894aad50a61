package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"sluice/internal/testkit"
)

func TestTmpLoad(t *testing.T) {
	a := sluice(t, nil, "load", "dedup-race", "--data-dir", filepath.Join(t.TempDir(), "data"), "--seconds", "1", "--body-size", "2000", "--log-level", "debug",
		"--state", testkit.MariaDB(t), "--redis", testkit.Redis(t))
	_ = os.WriteFile("/tmp/zz.log", []byte(a.out+a.errOut), 0o600)
	for range 2 {
		a = sluice(t, nil, "load", "peak-load", "dedup-race", "--data-dir", filepath.Join(t.TempDir(), "data"), "--body-size", "300000",
			"--state", testkit.MariaDB(t), "--redis", testkit.Redis(t))
		t.Log(a.out)
	}
}
