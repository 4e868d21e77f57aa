// Package main is etcd itself: the upstream module ships its server as a library and a main of its own
// only in a module that cannot be required.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
