package main

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// scenario is a kind of request that is measured.
type scenario struct {
	name    string
	model   string
	stream  bool
	clients int
	size    int     // of a request in bytes
	limit   float64 // of the CPU time, as a multiple of the proxy's
}

func scenarios() []scenario {
	return []scenario{
		{"whole answer, 1 client", modelClean, false, 1, 1 << 10, 1.5},
		{"whole answer, 64 clients", modelClean, false, 64, 1 << 10, 1.5},
		{"whole, 16 KB each way, 64 clients", modelLarge, false, 64, 16 << 10, 1.5},
		{"stream, 1 client", modelClean, true, 1, 1 << 10, 2},
		{"stream, 64 clients", modelClean, true, 64, 1 << 10, 2},
		{"stream in a tool call, 64 clients", modelText, true, 64, 1 << 10, 5},
	}
}

// contender is a way to the upstream: direct, or through a server.
type contender struct {
	server        *server
	repairs       bool // turns calls in text into tool calls
	load          load
	p50, p99, cpu []float64 // by round, in µs
}

// The ways to the upstream, by their place in a list.
const (
	direct = iota
	throughProxy
	throughGateway
	contenders
)

// gatewayConfig lets the gateway read what the mock's models say.
const gatewayConfig = `
providers: {mock: {type: openai, base_url: "http://%s/v1", parser: auto, tool_calls: repair}}
models: {"*": {targets: [{provider: mock}]}}
`

// startContenders starts the upstream and the servers before it, with the parsers
// compiled and ready.
func startContenders(ctx context.Context, b *bench) ([]*contender, error) {
	mock, err := startSelf(ctx, mockCommand)
	if err != nil {
		return nil, err
	}
	list := []*contender{{server: mock}}
	proxy, err := startSelf(ctx, proxyCommand, "http://"+mock.address)
	if err != nil {
		closeContenders(list)
		return nil, err
	}
	list = append(list, &contender{server: proxy})
	gateway, err := b.startReady(ctx, fmt.Sprintf(gatewayConfig, mock.address))
	if err != nil {
		closeContenders(list)
		return nil, err
	}
	return append(list, &contender{server: gateway, repairs: true}), nil
}

func closeContenders(list []*contender) {
	for _, c := range list {
		c.server.close()
	}
}

// measureGateway compares the gateway with a plain proxy.
func measureGateway(ctx context.Context, b *bench) (*table, error) {
	list, err := startContenders(ctx, b)
	if err != nil {
		return nil, err
	}
	defer closeContenders(list)
	t := &table{
		Title: "the gateway and Go's own reverse proxy before the same instant upstream",
		Columns: []column{
			{"added p50 µs", "proxy"}, {"added p50 µs", "gateway"}, {"added p99 µs", "proxy"}, {"added p99 µs", "gateway"},
			{"CPU µs a request", "proxy"}, {"CPU µs a request", "gateway"},
			{"CPU µs a chunk", "proxy"}, {"CPU µs a chunk", "gateway"}, {"", "CPU ratio"},
		},
		Note: fmt.Sprintf("added: to the time that the upstream alone takes. A stream has %d chunks. All requests offer a tool,\n"+
			"so that the gateway reads all text. Medians of %d rounds. Clients and servers share the CPUs, which 64 clients\n"+
			"keep busy: what is added there is waiting for them.", chunks, rounds),
	}
	if runtime.GOOS != "linux" {
		t.Note += " CPU time is measured on Linux only."
	}
	for _, s := range scenarios() {
		r, err := s.measure(ctx, b.time, list)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		t.Rows = append(t.Rows, r)
	}
	return t, nil
}

// rounds is in how many parts the time of a scenario is cut: each contender comes
// first, second and last equally often.
const rounds = 4 * contenders

// measure runs a scenario with all contenders in turn.
func (s scenario) measure(ctx context.Context, total time.Duration, list []*contender) (row, error) {
	for _, c := range list {
		c.p50, c.p99, c.cpu = nil, nil, nil
		var err error
		if c.load, err = newLoad(ctx, c.server.address, s.clients, request(s.model, s.stream, s.size), s.stream, expect(s.model, c.repairs)); err != nil {
			return row{}, c.server.failed(err)
		}
		defer c.load.close()
		if _, err := c.load.run(ctx, total/(2*rounds)); err != nil {
			return row{}, c.server.failed(err)
		}
	}
	for round := range rounds {
		for i := range list {
			c := list[(i+round)%len(list)]
			if err := c.measure(ctx, total/rounds); err != nil {
				return row{}, c.server.failed(err)
			}
		}
	}
	return s.row(list), nil
}

// measure runs a contender's load for the time d and notes what it took.
func (c *contender) measure(ctx context.Context, d time.Duration) error {
	before := c.server.cpu()
	took, err := c.load.run(ctx, d)
	if err != nil {
		return err
	}
	used := c.server.cpu() - before
	c.p50 = append(c.p50, float64(quantile(took, 0.5)))
	c.p99 = append(c.p99, float64(quantile(took, 0.99)))
	c.cpu = append(c.cpu, used*1e6/float64(len(took)))
	return nil
}

// row sums up the rounds.
func (s scenario) row(list []*contender) row {
	base, proxy, gateway := list[direct], list[throughProxy], list[throughGateway]
	ratio := pairwise(gateway.cpu, proxy.cpu, quotient)
	each := []figure{none(), none()}
	what := "CPU a request"
	if s.stream {
		each = []figure{median(proxy.cpu) / chunks, median(gateway.cpu) / chunks}
		what = "CPU a chunk"
	}
	return row{
		name: s.name,
		figures: []figure{
			pairwise(proxy.p50, base.p50, difference), pairwise(gateway.p50, base.p50, difference),
			pairwise(proxy.p99, base.p99, difference), pairwise(gateway.p99, base.p99, difference),
			median(proxy.cpu), median(gateway.cpu), each[0], each[1], ratio,
		},
		target: upTo(what, ratio, s.limit, "×"),
	}
}
