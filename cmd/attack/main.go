// Command attack runs a gateway under a mix of all attacks at once: hostile clients, a hostile
// upstream, a hostile Redis and hostile plugin files, with signals in between. Beside them one
// client behaves well, and each of its answers is checked. It prints what became of that client's
// requests and what the gateway took, and ends with status 1 if one was answered wrongly or the
// memory went over its bound.
//
//	go run ./cmd/attack -time 10m -gateway bin/callgate
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// settings are how an attack is run.
type settings struct {
	program  string
	time     time.Duration // how long it lasts; 0: until rounds are over
	rounds   int64         // how often each attack is made at least
	body     int           // the size of large bodies, in bytes
	answer   int           // and that of large answers
	memory   int           // limits.memory, in MiB
	pause    time.Duration // between two requests of the client that behaves well
	patience time.Duration // how long a hostile client waits for an answer
	log      string        // file for the gateway's log
}

func main() {
	s := settings{rounds: 1, body: 30_000_000, answer: 32 << 20, pause: 200 * time.Millisecond, patience: 20 * time.Second}
	flag.StringVar(&s.program, "gateway", "bin/callgate", "the gateway's `program`")
	flag.DurationVar(&s.time, "time", 10*time.Minute, "how long the attack lasts")
	flag.IntVar(&s.memory, "memory", 512, "limits.memory in `MiB`")
	flag.StringVar(&s.log, "log", "", "`file` for the gateway's log")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := attack(ctx, s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(1) //nolint:gocritic // the signals end with the process
	}
	fmt.Print(r)
	if faults := r.faults(); len(faults) > 0 {
		for _, f := range faults {
			fmt.Println("FAIL:", f)
		}
		os.Exit(1)
	}
}
