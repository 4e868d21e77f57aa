package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

var errRefused = errors.New("refused")

// What the environment says:
//
//	WEB_LISTEN   address and port (":8080")
//	WEB_ROOT     the folder that is served ("/www"); it may be missing
//	WEB_SHOW     names of variables and paths of files, with commas between: logged with their values at the start
//	WEB_REQUIRE  name=regexp, a variable or an absolute path: the process ends with code 3 where it does not match
//	WEB_DRAIN    for how long to go on serving after SIGTERM ("2s")
type settings struct {
	address string
	root    string
	show    []string
	drain   time.Duration
}

func read() (settings, error) {
	found := settings{address: or("WEB_LISTEN", ":8080"), root: or("WEB_ROOT", "/www")}
	for _, name := range strings.Split(os.Getenv("WEB_SHOW"), ",") {
		if name = strings.TrimSpace(name); name != "" {
			found.show = append(found.show, name)
		}
	}
	drain, err := time.ParseDuration(or("WEB_DRAIN", "2s"))
	if err != nil {
		return found, fmt.Errorf("WEB_DRAIN: %w", err)
	}
	found.drain = drain
	return found, require(os.Getenv("WEB_REQUIRE"))
}

func or(name, otherwise string) string {
	if value, there := os.LookupEnv(name); there {
		return value
	}
	return otherwise
}

func require(rule string) error {
	if rule == "" {
		return nil
	}
	name, pattern, whole := strings.Cut(rule, "=")
	expression, err := regexp.Compile(pattern)
	if !whole || err != nil {
		return fmt.Errorf("WEB_REQUIRE is %q; write name=regexp", rule)
	}
	value, there := look(name)
	if !there || !expression.MatchString(value) {
		return fmt.Errorf("%s is %s, which does not match %s: %w", name, shown(value, there), pattern, errRefused)
	}
	return nil
}

// look is the value of a variable, or the content of a file if the name is a path.
func look(name string) (string, bool) {
	if strings.HasPrefix(name, "/") {
		content, err := os.ReadFile(name)
		return strings.TrimRight(string(content), "\n"), err == nil
	}
	return os.LookupEnv(name)
}

func shown(value string, there bool) string {
	if !there {
		return "missing"
	}
	return fmt.Sprintf("%q", value)
}

func say(what string, names []string) {
	line := strings.Builder{}
	line.WriteString(what)
	for _, name := range names {
		value, there := look(name)
		fmt.Fprintf(&line, " %s=%s", name, shown(value, there))
	}
	fmt.Println(line.String())
}
