// The workload of tests and of the demo: a web server that says what its process sees. The standard library alone.
module reroll.dev/controlplane/web

go 1.26.0
