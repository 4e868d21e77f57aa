// Command web is a workload for real pods: it answers HTTP with what its process sees of its configuration.
//
//	web         serve until SIGTERM; settings are environment variables, see settings.go
//	web once    print what it sees and end, for Jobs and init containers
//	web pause   wait for a signal and reap children, for the sandbox of a pod
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// The exit code of a configuration that WEB_REQUIRE does not accept.
const refused = 3

func main() {
	mode := "serve"
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	modes := map[string]func() int{"serve": serve, "once": once, "pause": pause}
	run, known := modes[mode]
	if !known {
		fmt.Fprintf(os.Stderr, "web: there is no %q; there is serve, once and pause\n", mode)
		os.Exit(2)
	}
	os.Exit(run())
}

func serve() int {
	settings, err := read()
	if err != nil {
		return fail(err)
	}
	say("started", settings.show)
	site := newSite(settings.root)
	if err := site.read(); err != nil {
		return fail(fmt.Errorf("WEB_ROOT: %w", err))
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	listener, err := net.Listen("tcp", settings.address)
	if err != nil {
		return fail(fmt.Errorf("WEB_LISTEN: %w", err))
	}
	fmt.Printf("listening address=%s\n", listener.Addr())
	server := &http.Server{Handler: site.handler(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fail(err)
	case number := <-ended:
		fmt.Printf("draining signal=%s for=%s\n", number, settings.drain)
	}
	// Endpoints hear of the end later than this process does: until then requests still come.
	time.Sleep(settings.drain)
	limit, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(limit); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fail(err)
	}
	fmt.Println("ended")
	return 0
}

func once() int {
	settings, err := read()
	if err != nil {
		return fail(err)
	}
	say("once", settings.show)
	return 0
}

func pause() int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	fmt.Println("pausing")
	for number := range signals {
		if number != syscall.SIGCHLD {
			return 0
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
	return 0
}

func fail(err error) int {
	fmt.Fprintf(os.Stderr, "web: %v\n", err)
	if errors.Is(err, errRefused) {
		return refused
	}
	return 1
}
