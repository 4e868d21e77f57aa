package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const namespaces = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// ready is the descriptor on which init says that it is done.
const ready = 3

// run makes a sandbox and writes the pid of its init to a file when it can be used.
func run(arguments []string) error {
	file, folder := arguments[0], arguments[1]
	program, err := os.Executable()
	if err != nil {
		return err
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	programs := append([]string{"sandbox=" + program}, arguments[2:]...)
	init := child(program, append([]string{"init", folder}, programs...)...)
	init.ExtraFiles = []*os.File{writer}
	init.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL}
	if err := init.Start(); err != nil {
		return fmt.Errorf("cannot make namespaces: %w", err)
	}
	writer.Close()
	if word, err := io.ReadAll(reader); err == nil && len(word) > 0 {
		if err := announce(file, init.Process.Pid); err != nil {
			return err
		}
	}
	// The kernel keeps signals from an init that has no handler for them, but for this one.
	return wait(init, func(os.Signal) os.Signal { return syscall.SIGKILL })
}

func announce(file string, pid int) error {
	draft := file + ".new"
	if err := os.WriteFile(draft, []byte(strconv.Itoa(pid)), 0o600); err != nil {
		return err
	}
	return os.Rename(draft, file)
}

// initialize is the first process of a sandbox: it mounts what the node must not share with the machine, then reaps.
func initialize(arguments []string) error {
	if err := mounts(arguments[0], arguments[1:]); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte("node")); err != nil {
		return err
	}
	done := os.NewFile(ready, "ready")
	if _, err := done.WriteString("ready"); err != nil {
		return err
	}
	done.Close()
	reap(nil)
	return nil
}

// mounts gives the node a /proc, /sys, /run, /var/lib and /var/log of its own. What it keeps lies in folder, and is
// /run/node inside; programs are below /run/bin. So no path of the machine matters to it, however long.
func mounts(folder string, programs []string) error {
	staging := filepath.Join(folder, "mnt")
	run := filepath.Join(staging, "run")
	for _, step := range []func() error{
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
		func() error { return os.MkdirAll(staging, 0o700) },
		func() error { return mount("tmpfs", staging) },
		func() error { return mount("tmpfs", run) },
		func() error { return bind(folder, filepath.Join(run, "node"), 0) },
		func() error { return bindAll(programs, filepath.Join(run, "bin")) },
		func() error { return mount("sysfs", filepath.Join(staging, "sys")) },
		func() error { return bind("/sys/fs/cgroup", filepath.Join(staging, "sys/fs/cgroup"), unix.MS_REC) },
		func() error { return unix.Mount(filepath.Join(staging, "sys"), "/sys", "", unix.MS_MOVE, "") },
		func() error { return mount("proc", "/proc") },
		func() error { return pretend(settings, filepath.Join(run, "settings")) },
		func() error { return mount("tmpfs", "/var/log") },
		func() error { return mount("tmpfs", "/var/lib") },
		func() error { return unix.Mount(run, "/run", "", unix.MS_MOVE, "") },

		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "") },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// settings are those of the kernel that a kubelet wants and would set, for the whole machine.
var settings = map[string]string{
	"kernel/keys/root_maxbytes": "25000000",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
}

// pretend shows settings as they are wanted, so that the kubelet leaves the machine's as they are.
func pretend(settings map[string]string, folder string) error {
	for name, value := range settings {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := bind(file, filepath.Join("/proc/sys", name), 0); err != nil {
			return err
		}
	}
	return nil
}

func mount(kind, target string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(kind, target, kind, unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return fmt.Errorf("cannot mount %s at %s: %w", kind, target, err)
	}
	return nil
}

func bindAll(programs []string, folder string) error {
	for _, each := range programs {
		name, path, _ := strings.Cut(each, "=")
		if err := bind(path, filepath.Join(folder, name), 0); err != nil {
			return err
		}
	}
	return nil
}

// bind makes source, a file or a folder, visible at target; with MS_REC also what is mounted in it.
func bind(source, target string, flags uintptr) error {
	if err := place(source, target); err != nil {
		return err
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND|flags, ""); err != nil {
		return fmt.Errorf("cannot bind %s to %s: %w", source, target, err)
	}
	return nil
}

// place has something at target to mount source on.
func place(source, target string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	if info.IsDir() {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, nil, 0o755)
}

// pause holds the namespaces of a pod, and reaps where it is the first process of them.
func pause([]string) error {
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGTERM, syscall.SIGINT)
	reap(ending)
	return nil
}

// reap collects orphans until a signal comes.
func reap(ending <-chan os.Signal) {
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, syscall.SIGCHLD)
	for {
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if pid <= 0 && err != unix.EINTR {
				break
			}
		}
		select {
		case <-deaths:
		case <-ending:
			return
		}
	}
}
