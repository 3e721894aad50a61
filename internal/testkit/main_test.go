package testkit_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/testkit"
)

// childVariable makes TestHoldARedis do something: it is the part of a process
// that another test starts and kills.
const childVariable = "SLUICE_TEST_CHILD"

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// again runs a test of this binary in a process of its own.
func again(t *testing.T, name string, environment ...string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatalf("find this binary: %v", err)
	}
	command := exec.CommandContext(t.Context(), binary, "-test.v", "-test.run=^"+name+"$")
	command.Env = append(os.Environ(), environment...)
	return command
}

// TestAMissingServer runs a test where there is no Redis.
func TestAMissingServer(t *testing.T) {
	list := filepath.Join(t.TempDir(), "fallbacks")
	nowhere := "PATH=" + t.TempDir()
	out, err := again(t, "TestRedisAnswers", nowhere, "SLUICE_TEST_REQUIRE=", "SLUICE_TEST_FALLBACKS="+list).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- SKIP: TestRedisAnswers") {
		t.Errorf("the test is not skipped (%v):\n%s", err, out)
	}
	text, err := os.ReadFile(list)
	want := "internal/testkit: tests that need Redis did not run: there is no redis-server on PATH; run scripts/test-servers as root, or install it\n"
	if err != nil || string(text) != want {
		t.Errorf("the list of what did not run is %q (%v), want %q", text, err, want)
	}
	out, err = again(t, "TestRedisAnswers", nowhere, "SLUICE_TEST_REQUIRE=all").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "run scripts/test-servers") {
		t.Errorf("a test that must run says (%v):\n%s", err, out)
	}
}

// TestServersHaveNames: whoever reads a log must see what was proved.
func TestServersHaveNames(t *testing.T) {
	for name, want := range map[string]string{
		"TestRedisAnswers": "Redis: Redis server v=", "TestMariaDBDatabasesAreApart": "MariaDB: ", "TestMongoDatabasesAreApart": "MongoDB protocol: ",
	} {
		out, err := again(t, name).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if skipped := strings.Contains(string(out), "--- SKIP"); !skipped && strings.Count(string(out), want) != 1 {
			t.Errorf("%s does not say %q once:\n%s", name, want, out)
		}
	}
}

// TestHoldARedis is a part of TestServersDieWithTheTests: it starts a server,
// says where, and waits to be killed.
func TestHoldARedis(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		return
	}
	fmt.Println(testkit.StartRedis(t).URL())
	select {}
}
