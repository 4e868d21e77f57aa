// Package main is the sandbox of a node: Linux namespaces in which containerd, the kubelet and all pods live.
//
//	sandbox run READY FOLDER NAME=PATH...   make one, and hold it until a signal or its end
//	sandbox join PID PROGRAM ARGUMENT...    run a program in the one whose init is PID
//	sandbox pause                           wait for a signal: the first process of a pod
//
// The process outside stands for the one inside: signals are passed on, and the death of either is the death of both.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

var commands = map[string]struct {
	arguments int
	run       func(arguments []string) error
}{
	"run":   {2, run},
	"init":  {1, initialize},
	"join":  {2, join},
	"exec":  {1, execute},
	"pause": {0, pause},
}

func main() {
	// A namespace belongs to a thread, and so does the parent whose death a child is told of.
	runtime.LockOSThread()
	if len(os.Args) < 2 {
		fail(errors.New("name a command: run, join or pause"))
	}
	command, known := commands[os.Args[1]]
	arguments := os.Args[2:]
	if !known || len(arguments) < command.arguments {
		fail(fmt.Errorf("no such command: %s", strings.Join(os.Args[1:], " ")))
	}
	if err := command.run(arguments); err != nil {
		fail(err)
	}
}

func fail(err error) {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		os.Exit(exitCode(ended))
	}
	fmt.Fprintln(os.Stderr, "sandbox:", err)
	os.Exit(1)
}

func exitCode(ended *exec.ExitError) int {
	if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return ended.ExitCode()
}

func child(program string, arguments ...string) *exec.Cmd {
	command := exec.Command(program, arguments...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	return command
}

// wait passes signals on to the child until it ends.
func wait(child *exec.Cmd, passed func(os.Signal) os.Signal) error {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		for each := range signals {
			_ = child.Process.Signal(passed(each))
		}
	}()
	return child.Wait()
}
