// The server that the tests of the cluster home use: etcd as it is, in the version that go.mod names.
// etcdctl, which scripts/get-etcdctl builds, is a tool of the same module.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
