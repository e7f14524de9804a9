package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// scenario is a kind of request that is measured.
type scenario struct {
	name    string
	model   string
	stream  bool
	clients int
	size    int     // of a request in bytes
	than    int     // the contender that the gateway is compared with
	limit   float64 // of the gateway's CPU time, as a multiple of that contender's
}

func scenarios() []scenario {
	return []scenario{
		{"whole answer, 1 client", modelClean, false, 1, 1 << 10, throughProxy, 1.5},
		{"whole answer, 64 clients", modelClean, false, 64, 1 << 10, throughProxy, 1.5},
		{"whole, 16 KB each way, 64 clients", modelLarge, false, 64, 16 << 10, throughProxy, 1.5},
		{"whole native call, 64 clients", modelNative, false, 64, 1 << 10, throughOff, 1.5},
		{"stream, 1 client", modelClean, true, 1, 1 << 10, throughProxy, 2},
		{"stream, 64 clients", modelClean, true, 64, 1 << 10, throughProxy, 2},
		{"stream in a tool call in text, 64 clients", modelText, true, 64, 1 << 10, throughProxy, 5},
		{"stream in a native call, 64 clients", modelNative, true, 64, 1 << 10, throughOff, 1.5},
		{"the same, and text is read", modelNativeRead, true, 64, 1 << 10, throughOff, 1.5},
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
	throughOff // through a gateway that does not look at answers
	throughGateway
	contenders
)

// gatewayConfig is the configuration of a gateway before the mock, which reads what
// the models say but for modelNative's. toolCalls is what it does about calls.
func gatewayConfig(address, toolCalls string) string {
	return fmt.Sprintf(`
providers: {mock: {type: openai, base_url: "http://%s/v1", parser: auto, tool_calls: %s}}
models: {"*": {targets: [{provider: mock}]}, %q: {targets: [{provider: mock, parser: none}]}}
`, address, toolCalls, modelNative)
}

// startContenders starts the upstream and the servers before it, with the parsers
// compiled and ready.
func startContenders(ctx context.Context, b *bench) (list []*contender, err error) {
	defer func() {
		if err != nil {
			closeContenders(list)
		}
	}()
	mock, err := startSelf(ctx, mockCommand)
	if err != nil {
		return nil, err
	}
	list = append(list, &contender{server: mock})
	proxy, err := startSelf(ctx, proxyCommand, "http://"+mock.address)
	if err != nil {
		return list, err
	}
	list = append(list, &contender{server: proxy})
	for _, toolCalls := range []string{"off", "repair"} {
		gateway, err := b.startReady(ctx, gatewayConfig(mock.address, toolCalls))
		if err != nil {
			return list, err
		}
		list = append(list, &contender{server: gateway, repairs: toolCalls == "repair"})
	}
	return list, nil
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
			{"added p50 µs", "proxy"}, {"added p50 µs", "off"}, {"added p50 µs", "repair"},
			{"added p99 µs", "proxy"}, {"added p99 µs", "off"}, {"added p99 µs", "repair"},
			{"CPU µs", "proxy"}, {"CPU µs", "off"}, {"CPU µs", "repair"}, {"repair's CPU", "/ proxy"}, {"repair's CPU", "/ off"},
		},
		Note: fmt.Sprintf("added: to the time that the upstream alone takes. off and repair: the gateway with these tool_calls.\n"+
			"CPU: of a request, and in a stream of one of its %d chunks. All requests offer a tool, so that repair looks at\n"+
			"all answers. Medians of %d rounds. Clients and servers share the CPUs, which 64 clients keep busy: what is\n"+
			"added there is waiting for them.", chunks, rounds),
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
	var p50, p99, cpu, ratios []figure
	for _, c := range list[throughProxy:] {
		p50 = append(p50, pairwise(c.p50, list[direct].p50, difference))
		p99 = append(p99, pairwise(c.p99, list[direct].p99, difference))
		cpu = append(cpu, median(c.cpu)/figure(s.units()))
	}
	for _, c := range list[throughProxy:throughGateway] {
		ratios = append(ratios, pairwise(list[throughGateway].cpu, c.cpu, quotient))
	}
	what := "CPU / proxy"
	if s.than == throughOff {
		what = "CPU / off"
	}
	return row{
		name:    s.name,
		figures: slices.Concat(p50, p99, cpu, ratios),
		target:  upTo(what, ratios[s.than-throughProxy], s.limit, "×"),
	}
}

// units is in how many parts the CPU time of an answer is given.
func (s scenario) units() int {
	if s.stream {
		return chunks
	}
	return 1
}
