package testkit_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestServersDieWithTheTests kills a test process. Its server must end too:
// the connection to it breaks.
func TestServersDieWithTheTests(t *testing.T) {
	command := again(t, "TestHoldARedis", childVariable+"=1")
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatalf("pipe: %v", err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("start: %v", err)
	}
	host := ""
	for lines := bufio.NewScanner(output); host == "" && lines.Scan(); {
		_, host, _ = strings.Cut(lines.Text(), "redis://")
	}
	connection, err := net.DialTimeout("tcp", host, time.Minute)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer connection.Close()
	if err := command.Process.Kill(); err != nil {
		t.Fatalf("kill: %v", err)
	}
	_ = command.Wait() // it says that the process was killed
	if err := connection.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the server outlives its tests: %v", err)
	}
}
