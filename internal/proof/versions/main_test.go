// Package versions_test proves that data of earlier versions opens and goes on:
// testdata keeps a data folder and databases that such versions were stopped in
// the middle of, and says how they were made.
package versions_test

import (
	"os"
	"testing"

	"sluice/internal/testkit/sluice"
)

func TestMain(m *testing.M) { os.Exit(sluice.Main(m)) }
