package testkit

import (
	"os/exec"
	"syscall"
)

// dieWithParent also puts the command into a process group of its own: an
// interrupt typed at the terminal is for the tests, which end their servers.
func dieWithParent(command *exec.Cmd) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig, command.SysProcAttr.Setpgid = syscall.SIGKILL, true
}
