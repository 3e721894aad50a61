//go:build !linux

package testkit

import "os/exec"

// dieWithParent: elsewhere than on Linux, Main alone ends the servers.
func dieWithParent(*exec.Cmd) {}
