// A process with clients of goRedisson, for test/interop/go.test.ts. It reads lines from its standard input:
//
//	<number> <worker> lock|rlock|wlock|unlock|runlock|wunlock <name> [<time limit in ms>]
//
// and answers each with "<number> ok" or "<number> error: <why>". A worker is a goroutine: the owner of a lock.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/me-cs/goRedisson"
	"github.com/redis/go-redis/v9"
)

var (
	client  *goRedisson.GoRedisson
	workers = map[string]chan []string{}
	output  sync.Mutex
)

func answer(number string, err error) {
	output.Lock()
	defer output.Unlock()
	if err == nil {
		fmt.Printf("%s ok\n", number)
	} else {
		fmt.Printf("%s error: %s\n", number, strings.ReplaceAll(err.Error(), "\n", " "))
	}
}

func run(what, name string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	both := client.GetReadWriteLock(name)
	switch what {
	case "lock":
		return client.GetLock(name).LockContext(ctx)
	case "unlock":
		return client.GetLock(name).UnlockContext(ctx)
	case "rlock":
		return both.ReadLock().LockContext(ctx)
	case "runlock":
		return both.ReadLock().UnlockContext(ctx)
	case "wlock":
		return both.WriteLock().LockContext(ctx)
	case "wunlock":
		return both.WriteLock().UnlockContext(ctx)
	}
	return fmt.Errorf("unknown: %s", what)
}

func work(lines chan []string) {
	for line := range lines {
		limit := 60 * time.Second
		if len(line) > 4 {
			ms, _ := strconv.Atoi(line[4])
			limit = time.Duration(ms) * time.Millisecond
		}
		answer(line[0], run(line[2], line[3], limit))
	}
}

func main() {
	options, err := redis.ParseURL(os.Args[1])
	if err != nil {
		panic(err)
	}
	client = goRedisson.NewGoRedisson(redis.NewClient(options))
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		line := strings.Fields(input.Text())
		lines, known := workers[line[1]]
		if !known {
			lines = make(chan []string, 16)
			workers[line[1]] = lines
			go work(lines)
		}
		lines <- line
	}
}
