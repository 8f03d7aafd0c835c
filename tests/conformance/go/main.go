// The driver for Go: does what the lines on its standard input say, and tells what came of it. ../README.md says which lines
// there are.
package main

import (
	"bufio"
	"fmt"
	"os"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

// driver is what is open.
type driver struct {
	manager *ternlease.Manager
	pool    *ternlease.Pool
	events  *ternlease.Events
	machine *ternlease.Machine
	labels  labels
	watches map[string]<-chan ternlease.Notice
}

func newDriver() *driver {
	return &driver{labels: newLabels(), watches: map[string]<-chan ternlease.Notice{}}
}

func (d *driver) close() {
	d.events.Close()
	d.pool.Close()
	d.manager.Close()
	d.machine.Close()
	*d = *newDriver()
}

func (d *driver) step(line string) string {
	w := newWords(line)
	verb := w.next()
	switch {
	case libraryVerbs[verb] != nil:
		return libraryVerbs[verb](d, w)
	case managerVerbs[verb] != nil && d.manager != nil:
		return managerVerbs[verb](d, w)
	case poolVerbs[verb] != nil && d.pool != nil:
		return poolVerbs[verb](d, w)
	case machineVerbs[verb] != nil && d.machine != nil:
		return machineVerbs[verb](d, w)
	default:
		return nonsense
	}
}

func main() {
	d := newDriver()
	defer d.close()
	steps := bufio.NewScanner(os.Stdin)
	for steps.Scan() {
		fmt.Println(d.step(steps.Text()))
	}
}
