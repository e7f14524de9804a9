package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/callgate/callgate/internal/redistest"
)

// The targets of what keys, limits and the ledger add to a request.
const (
	limitsMemory  = 15  // µs of CPU
	limitsRedis   = 40  // µs of CPU, of the gateway
	limitsLatency = 300 // µs at p50 with one client
)

// limited is a configuration of a key, and of its limits and a ledger, which are measured beside a key alone.
type limited struct {
	name   string
	config string
	key    bool // alone; it is the first, and measured beside a gateway without keys
	redis  bool
	asks   bool    // it for each request, as near a limit; that has no targets
	limit  float64 // of the CPU it adds, µs; 0: no target
}

// keyConfig has a key and its team. limits are the key's, and teams the team's.
func keyConfig(address, limits, teams string) string {
	return gatewayConfig(address, "") + fmt.Sprintf(`
keys:
  - {name: app, team: search, hash: "sha256:%x"%s}
teams:
  search: {%s}
`, sha256.Sum256([]byte("none")), limits, teams)
}

// limitedConfig has a key and its team with seven limits, none of which is ever reached, and prices. more is
// where they are counted, and where the ledger is.
func limitedConfig(address, more string) string {
	return keyConfig(address, ", limits: [{requests: 1000000000, per: 1m}, {tokens: 1000000000, per: 1m}, {concurrency: 1000}, {usd: 1000000, per: month}]",
		"limits: [{tokens: 1000000000, per: 1m}, {concurrency: 1000}, {usd: 1000000, per: month}]") + "assume_price: {input: 0.001, output: 0.001}\n" + more
}

func (b *bench) limitedKinds(address, redis string) []limited {
	list := []limited{
		{name: "a key, without limits and ledger", key: true, config: keyConfig(address, "", "") + "usage: {store: off}\n"},
		{name: "its 7 limits, the ledger in memory", config: limitedConfig(address, "usage: {store: memory}\n"), limit: limitsMemory},
		{name: "the same, the ledger in SQLite", config: limitedConfig(address, fmt.Sprintf("usage: {store: sqlite, path: %q}\n", filepath.Join(b.dir, "usage.db")))},
	}
	if redis != "" {
		in := func(more string) string {
			return limitedConfig(address, fmt.Sprintf("usage: {store: memory}\nredis: {url: %q%s}\ncache_salt: a-salt-of-the-bench\n", redis, more))
		}
		list = append(list, limited{name: "7 limits in a Redis, the ledger in memory", redis: true, limit: limitsRedis, config: in("")},
			limited{name: "the same, the Redis asked for each request", redis: true, asks: true, config: in(", reserve: false, key_prefix: asked")})
	}
	return list
}

// measureLimits measures what a key adds to a request, and what limits and the ledger add to one with a key.
func measureLimits(ctx context.Context, b *bench) (*table, error) {
	note := ""
	redis, err := startRedis(ctx)
	if err != nil {
		note = "No Redis could be started, so its rows are missing: " + err.Error() + "\n"
	}
	defer redis.stop()
	mock, err := b.startMock(ctx)
	if err != nil {
		return nil, err
	}
	defer mock.close()
	t := &table{
		Title:   "what a key adds to a request, and its limits and the ledger to one with a key, before the same upstream",
		Columns: []column{{"µs", "without"}, {"µs", "with"}, {"µs", "added"}},
		Note: note + fmt.Sprintf("Medians of %d rounds in which all take turns; added: the median of the rounds' differences. CPU: of the\n"+
			"gateway's process, with what writes the ledger in the background; of the Redis what it takes for the requests.", b.rounds),
	}
	for _, clients := range []int{16, 1} {
		rows, err := b.limitRows(ctx, mock.address, clients, redis)
		if err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, rows...)
	}
	return t, nil
}

// limitRows measures with a number of clients: the CPU of some, and how long the answers for one take. An older gateway
// has rows of its own, beside itself.
func (b *bench) limitRows(ctx context.Context, upstream string, clients int, redis *redisServer) (rows []row, err error) {
	kinds := b.limitedKinds(upstream, redis.url())
	var lists [][]*contender // of each program, the first without a key, the second with one alone
	defer func() {
		for _, c := range slices.Concat(lists...) {
			c.load.close()
			c.server.close()
		}
	}()
	s := scenario{model: modelClean, clients: clients, size: 1 << 10}
	for at, program := range b.programs {
		lists = append(lists, nil)
		for i := range len(kinds) + 1 {
			config := gatewayConfig(upstream, "")
			if i > 0 {
				config = kinds[i-1].config
			}
			server, err := b.startReady(ctx, program, config)
			if err != nil {
				return nil, err
			}
			c := &contender{server: server, repairs: true, speaks: chatCompletions}
			lists[at] = append(lists[at], c)
			if err := c.prepare(ctx, s, b.turn()/2); err != nil {
				return nil, err
			}
		}
	}
	ofRedis, err := b.limitTurns(ctx, lists, kinds, redis)
	if err != nil {
		return nil, err
	}
	for at, program := range b.programs {
		whose := ""
		if at > 0 {
			whose = ", " + program.name
		}
		for i, k := range kinds {
			base := lists[at][1]
			if k.key {
				base = lists[at][0]
			}
			rows = append(rows, limitRow(k, whose, clients, base, lists[at][i+1]))
			if k.redis && clients > 1 {
				rows = append(rows, row{name: "the Redis's own CPU for that" + whose, figures: []figure{none(), median(ofRedis[at][i+1]), none()}})
			}
		}
	}
	return rows, nil
}

// limitRow is what a kind adds. whose says the program, if it is not this tree's, which has targets.
func limitRow(k limited, whose string, clients int, base, with *contender) row {
	r := row{name: k.name + fmt.Sprintf(": CPU, %d clients", clients) + whose}
	of, limit, unit := func(c *contender) []float64 { return c.cpu }, k.limit, " µs of CPU"
	if clients == 1 {
		r.name, of, limit, unit = k.name+": p50, 1 client"+whose, func(c *contender) []float64 { return c.p50 }, limitsLatency, " µs"
	}
	added := pairwise(of(with), of(base), difference)
	r.figures = []figure{median(of(base)), median(of(with)), added}
	if limit > 0 && !k.asks && whose == "" {
		r.target = upTo("added", added, limit, unit)
	}
	return r
}

// limitTurns measures all in turn, and returns what the Redis took for a request, by program, kind and round.
func (b *bench) limitTurns(ctx context.Context, lists [][]*contender, kinds []limited, redis *redisServer) (ofRedis []map[int][]float64, err error) {
	for range lists {
		ofRedis = append(ofRedis, map[int][]float64{})
	}
	each := len(kinds) + 1
	for round := range b.rounds {
		for i := range each * len(lists) {
			i = (i + round) % (each * len(lists))
			program, kind := i%len(lists), i/len(lists)
			c := lists[program][kind]
			before := redis.cpu()
			n, err := c.measureSome(ctx, b.turn())
			if err != nil {
				return nil, c.server.failed(err)
			}
			if kind > 0 && kinds[kind-1].redis {
				ofRedis[program][kind] = append(ofRedis[program][kind], (redis.cpu()-before)*1e6/float64(n))
			}
		}
	}
	return ofRedis, nil
}

// redisServer is a Redis of the bench's own; nil is none.
type redisServer struct {
	process *redistest.Process
	dir     string
}

func startRedis(ctx context.Context) (*redisServer, error) {
	dir, err := os.MkdirTemp("", "callgate-bench-redis-")
	if err != nil {
		return nil, err
	}
	p, err := redistest.Run(ctx, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &redisServer{p, dir}, nil
}

func (r *redisServer) url() string {
	if r == nil {
		return ""
	}
	return "redis://" + r.process.Addr()
}

func (r *redisServer) cpu() float64 {
	if r == nil {
		return 0
	}
	return cpuTime(r.process.PID())
}

func (r *redisServer) stop() {
	if r != nil {
		_ = r.process.Stop()
		_ = os.RemoveAll(r.dir)
	}
}
