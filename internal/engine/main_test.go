package engine_test

import (
	"os"
	"testing"

	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }
