// The sandbox in which a node runs, and the process that holds a pod's namespaces.
module reroll.dev/controlplane/sandbox

go 1.26.0

require golang.org/x/sys v0.47.0
