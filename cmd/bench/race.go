package main

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// scenario is a kind of request that is measured.
type scenario struct {
	model   string
	stream  bool
	clients int
	size    int       // of a request in bytes
	off     bool      // beside the same gateway with tool_calls: off, else beside the proxy
	speaks  *protocol // beside the same gateway asked in chat completions; nil: as said above
}

// contender is a server before the upstream.
type contender struct {
	server        *server
	repairs       bool // turns calls in text into tool calls
	speaks        *protocol
	load          load
	p50, p99, cpu []float64 // by round, in µs
}

// pair is a program's gateway, and what it is compared with.
type pair struct{ base, gateway *contender }

// gatewayConfig is the configuration of a gateway before the mock: the defaults, and
// the text of all models is read. more is further keys of the provider.
func gatewayConfig(address, more string) string {
	return fmt.Sprintf(`
providers: {mock: {type: openai, base_url: "http://%s/v1", parser: auto%s}}
models: {"*": {targets: [{provider: mock}]}}
`, address, more)
}

// mostRounds is in how many parts the time of a scenario is cut, unless a test is content with fewer.
const mostRounds = 24

// turn is how long a contender is measured at a time.
func (b *bench) turn() time.Duration { return b.time / time.Duration(b.rounds) }

// race measures a scenario before the same upstream with all contenders in turn, and gives
// a pair for each program.
func (s scenario) race(ctx context.Context, b *bench) ([]pair, error) {
	mock, err := b.startMock(ctx)
	if err != nil {
		return nil, err
	}
	defer mock.close()
	list, pairs, err := s.contenders(ctx, b, mock.address)
	defer func() {
		for _, c := range list {
			c.load.close()
			c.server.close()
		}
	}()
	if err != nil {
		return nil, err
	}
	for round := range b.rounds {
		for i := range list {
			c := list[(i+round)%len(list)]
			if err := c.measure(ctx, b.turn()); err != nil {
				return nil, c.server.failed(err)
			}
		}
	}
	return pairs, nil
}

// contenders starts what is before the upstream, and warms it up. What is listed is to be
// closed, even after an error.
func (s scenario) contenders(ctx context.Context, b *bench, upstream string) (list []*contender, pairs []pair, err error) {
	add := func(server *server, err error, repairs bool, speaks *protocol) (*contender, error) {
		if err != nil {
			return nil, err
		}
		c := &contender{server: server, repairs: repairs, speaks: speaks}
		list = append(list, c)
		return c, c.prepare(ctx, s, b.turn()/2)
	}
	var base *contender
	if !s.off && s.speaks == nil {
		server, err := startSelf(ctx, proxyCommand, "http://"+upstream)
		if base, err = add(server, err, false, chatCompletions); err != nil {
			return list, nil, err
		}
	}
	for _, p := range b.programs {
		if s.off {
			server, err := b.startReady(ctx, p, gatewayConfig(upstream, ", tool_calls: off"))
			if base, err = add(server, err, false, chatCompletions); err != nil {
				return list, nil, err
			}
		}
		if s.speaks != nil {
			server, err := b.startReady(ctx, p, gatewayConfig(upstream, ""))
			if base, err = add(server, err, true, chatCompletions); err != nil {
				return list, nil, err
			}
		}
		server, err := b.startReady(ctx, p, gatewayConfig(upstream, ""))
		gateway, err := add(server, err, true, cmp.Or(s.speaks, chatCompletions))
		if err != nil {
			return list, nil, err
		}
		pairs = append(pairs, pair{base, gateway})
	}
	return list, pairs, nil
}

// prepare connects the clients, checks an answer and warms the contender up.
func (c *contender) prepare(ctx context.Context, s scenario, d time.Duration) (err error) {
	if c.load, err = newLoad(ctx, c.server.address, s.clients, question{c.speaks, c.speaks.request(s.model, s.stream, s.size), s.stream, expect(s.model, c.repairs)}); err != nil {
		return c.server.failed(err)
	}
	if _, err := c.load.run(ctx, d); err != nil {
		return c.server.failed(err)
	}
	return nil
}

// measure runs a contender's load for the time d and notes what it took.
func (c *contender) measure(ctx context.Context, d time.Duration) error {
	_, err := c.measureSome(ctx, d)
	return err
}

// measureSome does so, and returns how many answers there were.
func (c *contender) measureSome(ctx context.Context, d time.Duration) (int, error) {
	before := c.server.cpu()
	took, err := c.load.run(ctx, d)
	if err != nil {
		return 0, err
	}
	used := c.server.cpu() - before
	c.p50 = append(c.p50, float64(quantile(took, 0.5)))
	c.p99 = append(c.p99, float64(quantile(took, 0.99)))
	c.cpu = append(c.cpu, used*1e6/float64(len(took)))
	return len(took), nil
}

// cpu compares the CPU time in µs of a request, or of a chunk of a stream.
func (s scenario) cpu(p pair) comparison {
	units := figure(1)
	if s.stream {
		units = chunks
	}
	return comparison{median(p.base.cpu) / units, median(p.gateway.cpu) / units, pairwise(p.gateway.cpu, p.base.cpu, quotient)}
}

// cpuRow makes a row of the main table of a scenario: of the CPU time that a gateway takes
// for a request, or a chunk of a stream, as a multiple of what it is compared with.
func cpuRow(r row, limit float64, s scenario) func(context.Context, *bench) ([]row, error) {
	return func(ctx context.Context, b *bench) ([]row, error) {
		pairs, err := s.race(ctx, b)
		if err != nil {
			return nil, err
		}
		var list []comparison
		for _, p := range pairs {
			list = append(list, s.cpu(p))
		}
		r.figures = compared(list)
		r.target = upTo("", list[0].ratio, limit, " ×")
		return []row{r}, nil
	}
}

// overheadRows are what the gateway adds to the time until an answer is there.
func overheadRows(ctx context.Context, b *bench) ([]row, error) {
	quantiles := []struct {
		name  string
		of    func(*contender) []float64
		peers string // with 1 client
	}{
		{"p50", func(c *contender) []float64 { return c.p50 }, "Bifrost 179, Portkey 1400"},
		{"p99", func(c *contender) []float64 { return c.p99 }, "Bifrost 527, Portkey 8700"},
	}
	var rows []row
	for _, by := range []struct {
		clients int
		name    string
	}{{1, "1 client"}, {64, "64 clients"}} {
		pairs, err := scenario{model: modelClean, clients: by.clients, size: 1 << 10}.race(ctx, b)
		if err != nil {
			return nil, err
		}
		for _, q := range quantiles {
			r := row{name: fmt.Sprintf("overhead at %s, %s, µs", q.name, by.name)}
			if by.clients == 1 {
				r.peers = q.peers
			}
			var list []comparison
			for _, p := range pairs {
				list = append(list, comparison{median(q.of(p.base)), pairwise(q.of(p.gateway), q.of(p.base), difference), none()})
			}
			r.figures = compared(list)
			rows = append(rows, r)
		}
	}
	return rows, nil
}
