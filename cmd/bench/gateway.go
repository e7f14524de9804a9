package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// comparison is what a program took, what it is compared with, and the ratio of both. Any
// may be missing.
type comparison struct{ base, value, ratio figure }

// compared are the figures of a row of the main table, of the programs of the run.
func compared(list []comparison) []figure {
	older := comparison{none(), none(), none()}
	if len(list) > 1 {
		older = list[1]
	}
	return []figure{list[0].base, older.value, list[0].value, older.ratio, list[0].ratio}
}

// part is one or some rows of the main table.
type part struct {
	name string
	rows func(context.Context, *bench) ([]row, error)
}

func parts() []part {
	return []part{
		{"gateway/request", cpuRow(row{name: "CPU a request, 64 clients, µs", beyond: "1.2",
			peers: "nginx 0.2, vllm-router 1.0, SMG 2.3, Bifrost 3.1, Portkey 14, LiteLLM 130"}, 1.4,
			scenario{model: modelClean, clients: 64, size: 1 << 10})},
		{"gateway/request-16k", cpuRow(row{name: "CPU a request of 16 KB each way, 64 clients, µs", beyond: "1.3",
			peers: "Bifrost 6.2, Portkey 19, one-api 57"}, 1.5,
			scenario{model: modelLarge, clients: 64, size: 16 << 10})},
		{"gateway/chunk", cpuRow(row{name: "CPU a streamed chunk, 64 clients, µs", beyond: "1.3",
			peers: "nginx 0.7, vllm-router 3.0, SMG 3.9, Bifrost 9.9, Portkey 15, LiteLLM 260"}, 1.6,
			scenario{model: modelClean, stream: true, clients: 64, size: 1 << 10})},
		{"gateway/chunk-in-call", cpuRow(row{name: "CPU a streamed chunk inside a call in text, 64 clients, µs", beyond: "3"}, 4,
			scenario{model: modelText, stream: true, clients: 64, size: 1 << 10})},
		{"gateway/chunk-native", cpuRow(row{name: "CPU a streamed chunk of a native call, beside tool_calls: off, µs", beyond: "1.1"}, 1.2,
			scenario{model: modelNative, stream: true, clients: 64, size: 1 << 10, off: true})},
		{"gateway/responses", cpuRow(row{name: "CPU a request by Responses, beside chat, µs"}, 1.3,
			scenario{model: modelClean, clients: 64, size: 1 << 10, speaks: protocols["Responses"]})},
		{"gateway/responses-kept", cpuRow(row{name: "the same, kept in memory, µs"}, 1.3,
			scenario{model: modelClean, clients: 64, size: 1 << 10, speaks: protocols["Responses, kept"]})},
		{"gateway/responses-chunk", cpuRow(row{name: "CPU a streamed chunk by Responses, beside chat, µs"}, 1.3,
			scenario{model: modelClean, stream: true, clients: 64, size: 1 << 10, speaks: protocols["Responses"]})},
		{"gateway/messages", cpuRow(row{name: "CPU a request by Messages, beside chat, µs"}, 1.3,
			scenario{model: modelClean, clients: 64, size: 1 << 10, speaks: protocols["Messages"]})},
		{"gateway/messages-chunk", cpuRow(row{name: "CPU a streamed chunk by Messages, beside chat, µs"}, 1.3,
			scenario{model: modelClean, stream: true, clients: 64, size: 1 << 10, speaks: protocols["Messages"]})},
		{"gateway/allocations", allocationRows},
		{"gateway/call", callRows},
		{"gateway/answer", answerRows},
		{"gateway/memory", memoryRows},
		{"gateway/overhead", overheadRows},
	}
}

// measureMain makes the main table, of some of its parts.
func measureMain(chosen []part) func(context.Context, *bench) (*table, error) {
	return func(ctx context.Context, b *bench) (*table, error) {
		t := &table{
			Title: "the gateway as it is by default, and what is compared with it, before the same instant upstream",
			Columns: []column{{"", "base"}, {"measured", "older"}, {"measured", "gateway"},
				{"as a multiple", "older"}, {"as a multiple", "gateway"}},
			Note: fmt.Sprintf("base: Go's own httputil.ReverseProxy, or what the row names; of an overhead, the time through that proxy, which\n"+
				"is taken off. older: the program that -beside names. All requests offer a tool, and the text of all answers is\n"+
				"read; a stream has %d chunks. CPU: user and system time of the process. Medians of %d rounds in which all take\n"+
				"turns. Clients and servers share the CPUs, which 64 clients keep busy: what is added there is waiting for them.\n"+
				"peers: multiples of such a proxy, µs or MiB, measured once on another day, with 16 clients and no tools offered,\n"+
				"on two cores: nginx 1.22, vllm-router 0.1.17, SMG 1.13.0, Bifrost 1.4.19, Portkey 1.15.2, LiteLLM 1.109.1, one-api.", chunks, b.rounds),
		}
		for _, p := range chosen {
			rows, err := p.rows(ctx, b)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			t.Rows = append(t.Rows, rows...)
		}
		return t, nil
	}
}

// allocationClients is over how many clients' streams, of so many each, the allocations are
// counted.
const allocationClients, allocationStreams = 16, 8

// allocationRows counts what a gateway's whole process allocates for a chunk that it passes
// on: what streams of twice the chunks take more.
func allocationRows(ctx context.Context, b *bench) ([]row, error) {
	mock, err := b.startMock(ctx)
	if err != nil {
		return nil, err
	}
	defer mock.close()
	var list []comparison
	for _, p := range b.programs {
		gateway, err := b.startReady(ctx, p, gatewayConfig(mock.address, ""))
		if err != nil {
			return nil, err
		}
		defer gateway.close()
		var counts []figure
		for _, model := range []string{modelPlainLong, modelPlain, modelPlainLong} { // the first time is to warm up
			n, err := gateway.allocations(ctx, model)
			if err != nil {
				return nil, gateway.failed(err)
			}
			counts = append(counts, n)
		}
		list = append(list, comparison{none(), (counts[2] - counts[1]) / (allocationClients * allocationStreams * chunks), none()})
	}
	r := row{name: "allocations a passed-through chunk", figures: compared(list), target: upTo("", list[0].value, 2, ""), beyond: "0"}
	return []row{r}, nil
}

// allocations is how many allocations the process makes while streams of a model are read.
func (s *server) allocations(ctx context.Context, model string) (figure, error) {
	load, err := newLoad(ctx, s.address, allocationClients, question{chatCompletions, request(model, true, 1<<10), true, expect(model, true)})
	if err != nil {
		return none(), err
	}
	defer load.close()
	before, err := s.mallocs(ctx)
	if err != nil {
		return none(), err
	}
	if err := load.each(ctx, 0, func(c *client) error {
		for range allocationStreams {
			if err := c.do(); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return none(), err
	}
	after, err := s.mallocs(ctx)
	return after - before, err
}

// mallocs is how many allocations the process has made, as its metrics say.
func (s *server) mallocs(ctx context.Context) (figure, error) {
	status, body, err := ask(ctx, http.MethodGet, "http://"+s.admin+"/metrics", "")
	if err != nil {
		return none(), err
	}
	for line := range strings.Lines(string(body)) {
		if value, found := strings.CutPrefix(line, "go_memstats_mallocs_total "); found {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return figure(n), err
		}
	}
	return none(), fmt.Errorf("the metrics (status %d) have no count of allocations", status)
}
