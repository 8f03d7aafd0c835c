// What the benchmarks etcd.… are compared with: bare transactions, by etcd's own client.
//
//	txn ENDPOINT
//
// says "ready", and then answers each line that it reads: "each N" with how many nanoseconds one of N transactions takes, the middle of them;
// "rate CLIENTS MILLISECONDS" with how many are made in a second by so many clients, each with a connection and a key of its own.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// As large as what a change of a table comes to.
var value = strings.Repeat("x", 200)

type client struct {
	etcd *clientv3.Client
	key  string
	// Of the last change of the key.
	revision int64
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "txn:", err)
		os.Exit(1)
	}
}

func connect(endpoint, key string) *client {
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 5 * time.Second})
	check(err)
	c := &client{etcd: etcd, key: key}
	answer, err := etcd.Put(context.Background(), key, value)
	check(err)
	c.revision = answer.Header.Revision
	return c
}

// One compare-and-swap: what a change of a table cannot do without.
func (c *client) txn() {
	unchanged := clientv3.Compare(clientv3.ModRevision(c.key), "=", c.revision)
	answer, err := c.etcd.Txn(context.Background()).If(unchanged).Then(clientv3.OpPut(c.key, value)).Commit()
	check(err)
	if !answer.Succeeded {
		check(fmt.Errorf("somebody else has changed %s", c.key))
	}
	c.revision = answer.Header.Revision
}

func each(c *client, count int) time.Duration {
	times := make([]time.Duration, count)
	for i := range times {
		start := time.Now()
		c.txn()
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return times[count/2]
}

func rate(clients []*client, length time.Duration) float64 {
	var made atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for _, c := range clients {
		all.Go(func() {
			for time.Since(start) < length {
				c.txn()
				made.Add(1)
			}
		})
	}
	all.Wait()
	return float64(made.Load()) / time.Since(start).Seconds()
}

func main() {
	endpoint := os.Args[1]
	own := fmt.Sprintf("/bare/go/%d/", os.Getpid())
	one := connect(endpoint, own+"one")
	var many []*client
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var count, clients, milliseconds int
		if _, err := fmt.Sscanf(lines.Text(), "each %d", &count); err == nil && count > 0 {
			fmt.Println(each(one, count).Nanoseconds())
		} else if _, err := fmt.Sscanf(lines.Text(), "rate %d %d", &clients, &milliseconds); err == nil {
			for len(many) < clients {
				many = append(many, connect(endpoint, fmt.Sprintf("%s%d", own, len(many))))
			}
			fmt.Println(rate(many[:clients], time.Duration(milliseconds)*time.Millisecond))
		} else {
			check(fmt.Errorf("what is %q?", lines.Text()))
		}
	}
}
