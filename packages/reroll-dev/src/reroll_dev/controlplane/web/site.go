package main

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// A site serves a folder as it was when it was read last, as servers do that load their configuration once.
type site struct {
	root    string
	lock    sync.RWMutex
	files   map[string][]byte
	reloads int
}

func newSite(root string) *site {
	return &site{root: root}
}

func (s *site) handler() http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	routes.HandleFunc("GET /env/{name}", func(w http.ResponseWriter, r *http.Request) {
		value, there := os.LookupEnv(r.PathValue("name"))
		answer(w, value, there)
	})
	routes.HandleFunc("GET /file", func(w http.ResponseWriter, r *http.Request) {
		content, err := os.ReadFile(r.URL.Query().Get("path"))
		answer(w, string(content), err == nil)
	})
	routes.HandleFunc("POST /-/reload", s.reload)
	routes.HandleFunc("GET /-/reloads", func(w http.ResponseWriter, _ *http.Request) {
		s.lock.RLock()
		defer s.lock.RUnlock()
		fmt.Fprintln(w, s.reloads)
	})
	routes.HandleFunc("GET /", s.page)
	return routes
}

func answer(w http.ResponseWriter, value string, there bool) {
	if !there {
		http.Error(w, "missing", http.StatusNotFound)
		return
	}
	fmt.Fprint(w, value)
}

func (s *site) page(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	s.lock.RLock()
	defer s.lock.RUnlock()
	for _, candidate := range []string{name, path.Join(name, "index.html")} {
		if content, there := s.files[candidate]; there {
			if kind := mime.TypeByExtension(path.Ext(candidate)); kind != "" {
				w.Header().Set("Content-Type", kind)
			}
			_, _ = w.Write(content)
			return
		}
	}
	http.NotFound(w, r)
}

func (s *site) reload(w http.ResponseWriter, _ *http.Request) {
	if err := s.read(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.reloads++
	fmt.Printf("reloaded times=%d\n", s.reloads)
	fmt.Fprintln(w, s.reloads)
}

// read loads every file below the root, through links: a volume of a ConfigMap consists of them.
func (s *site) read() error {
	files := map[string][]byte{}
	err := filepath.WalkDir(s.root, func(place string, entry fs.DirEntry, err error) error {
		// `..data` and the folder that it leads to: the volume's own, shown a second time by the links beside them.
		if err == nil && strings.HasPrefix(entry.Name(), "..") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if errors.Is(err, fs.ErrNotExist) && place == s.root {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		return load(files, s.root, place)
	})
	if err != nil {
		return err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.files = files
	return nil
}

func load(files map[string][]byte, root, place string) error {
	name, err := filepath.Rel(root, place)
	if err != nil {
		return err
	}
	status, err := os.Stat(place)
	if err != nil || !status.Mode().IsRegular() {
		return err
	}
	content, err := os.ReadFile(place)
	files[filepath.ToSlash(name)] = content
	return err
}
