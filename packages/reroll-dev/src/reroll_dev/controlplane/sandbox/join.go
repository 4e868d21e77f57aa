package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// own is where the sandbox's own program is, inside.
const own = "/run/bin/sandbox"

// join runs a program in the namespaces of another process. Those of mounts come last: /proc is of use until then.
func join(arguments []string) error {
	var handles []*os.File
	for _, name := range []string{"ipc", "uts", "net", "pid", "mnt"} {
		handle, err := os.Open(fmt.Sprintf("/proc/%s/ns/%s", arguments[0], name))
		if err != nil {
			return err
		}
		handles = append(handles, handle)
	}
	// Threads share their root folder until one of them asks for its own.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	for _, handle := range handles {
		if err := unix.Setns(int(handle.Fd()), 0); err != nil {
			return fmt.Errorf("cannot join the namespaces of %s: %w", arguments[0], err)
		}
		handle.Close()
	}
	program := child(own, append([]string{"exec"}, arguments[1:]...)...)
	program.Dir = "/"
	if err := program.Start(); err != nil {
		return err
	}
	return wait(program, func(received os.Signal) os.Signal { return received })
}

// execute becomes the program, and dies with the one that joined. (Go's own way to ask for that compares the pids of
// parent and child, which is of no use where they live in different namespaces.)
func execute(arguments []string) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if unix.Getppid() != 0 {
		return errors.New("the process that asked for this one has ended")
	}
	path, err := exec.LookPath(arguments[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("cannot execute %s: %w", path, unix.Exec(path, arguments, os.Environ()))
}
