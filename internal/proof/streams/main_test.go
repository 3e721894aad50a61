package streams_test

import (
	"os"
	"testing"

	"sluice/internal/testkit/sluice"
)

func TestMain(m *testing.M) { os.Exit(sluice.Main(m)) }
