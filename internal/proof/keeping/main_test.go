// Package keeping proves with the program itself that data is kept: backed up and
// restored under load, sealed anew by a rotation that is killed.
package keeping_test

import (
	"os"
	"testing"

	"sluice/internal/testkit/sluice"
)

func TestMain(m *testing.M) { os.Exit(sluice.Main(m)) }
