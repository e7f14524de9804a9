package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	toolrun "github.com/callgate/callgate/gateway/run"
	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/wire"
)

// toolRounds is how many rounds of calls a measured request has, beside its last answer.
const toolRounds = 10

// maxRoundMicros is what a round may cost beside the model and the tools.
const maxRoundMicros = 1000

// measureTools measures what the gateway takes for running tools itself, with a model and tools
// that take no time.
func measureTools(ctx context.Context, b *bench) (*table, error) {
	t := &table{
		Title:   "tools that the gateway runs: its own cost of a round, beside the model and the tools",
		Columns: []column{{"µs a round", "best"}, {"µs a round", "median"}},
		Note:    "a round: the model's answer read as a stream, its calls checked and run, their results cleaned and added to the request. The request has " + fmt.Sprint(toolRounds) + " of them.",
	}
	kinds := []struct {
		name           string
		offered, calls int
		result         string
	}{
		{"1 tool offered, 1 call, result of 1 KB", 1, 1, strings.Repeat("a line of text\n", 70)},
		{"100 tools offered, 1 call, result of 1 KB", 100, 1, strings.Repeat("a line of text\n", 70)},
		{"100 tools offered, 8 calls, results of 1 KB", 100, 8, strings.Repeat("a line of text\n", 70)},
		{"1 tool offered, 1 call, result of 20 KB of HTML", 1, 1, strings.Repeat("<p>a <b>line</b> of text</p>\n", 700)},
	}
	var batches []batch
	for _, k := range kinds {
		s := newToolScript(k.offered, k.calls, k.result)
		batches = append(batches, repeated(func() error { return s.ask(ctx) }))
	}
	passing := newToolScript(1, 1, "")
	passes := toolrun.New(toolrun.Options{Inner: nobody{}, Catalogue: passing, Servers: []string{"s"}})
	req, err := gateway.ParseRequest(withTools(100))
	if err != nil {
		return nil, err
	}
	batches = append(batches, repeated(func() error { _, err := passes.Chat(ctx, req); return err }))
	times, err := interleave(ctx, b.time*time.Duration(len(batches)), batches...)
	if err != nil {
		return nil, err
	}
	for i, k := range kinds {
		fast, usual := best(times[i])/toolRounds, median(times[i])/toolRounds
		t.Rows = append(t.Rows, row{name: k.name, figures: []figure{fast, usual}, target: upTo("median", usual, maxRoundMicros, " µs")})
	}
	last := times[len(kinds)]
	t.Rows = append(t.Rows, row{name: "a request with 100 tools of the client's own, which passes by", figures: []figure{best(last), median(last)}})
	return t, nil
}

// nobody answers with nothing.
type nobody struct{}

// Chat implements run.Chatter.
func (nobody) Chat(context.Context, *gateway.Request) (*gateway.Response, error) {
	return nil, nil //nolint:nilnil // nothing is measured but the way here
}

// withTools is a request with so many tools of the client's own.
func withTools(n int) []byte {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"type":"function","function":{"name":"tool_%d","description":"Does something.","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}}`, i))
	}
	return []byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}],"tools":[` + strings.Join(list, ",") + `]}`)
}

// toolScript is a model that calls tools for some rounds, and the tools.
type toolScript struct {
	runner  *toolrun.Runner
	tools   []toolserver.Tool
	result  string
	answers [toolRounds + 1]string
	body    []byte
	round   int
}

func newToolScript(offered, calls int, result string) *toolScript {
	s := &toolScript{result: result}
	for i := range offered {
		s.tools = append(s.tools, toolserver.Tool{Server: "s", Name: fmt.Sprintf("tool_%d", i), Alias: toolserver.Alias("s", fmt.Sprintf("tool_%d", i)), Description: "Does something.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`)})
	}
	for n := range s.answers {
		s.answers[n] = toolAnswer(n, calls)
	}
	s.body = []byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"mcp","server_label":"s"}]}`)
	s.runner = toolrun.New(toolrun.Options{Inner: s, Catalogue: s, Servers: []string{"s"}, Policy: toolrun.Policy{Rounds: 2 * toolRounds, Warn: 1, Size: toolrun.Sizes{Run: 1 << 30}}})
	return s
}

// toolAnswer is the stream of the nth round.
func toolAnswer(n, calls int) string {
	var b strings.Builder
	chunk := func(delta, reason string) {
		fmt.Fprintf(&b, "data: {\"id\":\"r\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, reason)
	}
	chunk(`{"role":"assistant","content":""}`, "null")
	if n == toolRounds {
		chunk(`{"content":"Done."}`, "null")
		chunk(`{}`, `"stop"`)
	} else {
		for i := range calls {
			chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"call_%d_%d","type":"function","function":{"name":"s__tool_0","arguments":""}}]}`, i, n, i), "null")
			for _, piece := range []string{`{\"q\":`, fmt.Sprintf(`\"%d %d\"`, n, i), "}"} {
				chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"%s"}}]}`, i, piece), "null")
			}
		}
		chunk(`{}`, `"tool_calls"`)
	}
	return b.String() + "data: [DONE]\n\n"
}

// ask reads one answer to its end.
func (s *toolScript) ask(ctx context.Context) error {
	s.round = 0
	req, err := gateway.ParseRequest(s.body)
	if err != nil {
		return err
	}
	resp, err := s.runner.Chat(ctx, req)
	if err != nil {
		return err
	}
	defer resp.Close()
	said := false
	for {
		f, err := resp.Next()
		if err == io.EOF && said && resp.Summary.ToolRun.Rounds == toolRounds+1 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the answer of round %d: %w", resp.Summary.ToolRun.Rounds, err)
		}
		said = said || f != nil && bytes.Contains(f.Data, []byte("Done."))
	}
}

// Chat implements run.Chatter.
func (s *toolScript) Chat(context.Context, *gateway.Request) (*gateway.Response, error) {
	text := s.answers[min(s.round, toolRounds)]
	s.round++
	return &gateway.Response{Reply: &toolReply{wire.NewReader(strings.NewReader(text), 0)}, Summary: &gateway.Summary{}}, nil
}

// Tools implements run.Catalogue.
func (s *toolScript) Tools([]string) ([]toolserver.Tool, []toolserver.Missing) { return s.tools, nil }

// Call implements run.Catalogue.
func (s *toolScript) Call(_ context.Context, _ string, args json.RawMessage) (*toolserver.Result, error) {
	return &toolserver.Result{Text: string(args) + s.result}, nil
}

// toolReply is the stream of one round.
type toolReply struct{ blocks *wire.Reader }

func (r *toolReply) Header() http.Header { return http.Header{} }
func (r *toolReply) Streamed() bool      { return true }
func (r *toolReply) Close() error        { return nil }

func (r *toolReply) Next() (*wire.Frame, error) {
	b, err := r.blocks.Next()
	if err != nil {
		return nil, err
	}
	if string(b.Data) == "[DONE]" {
		return &wire.Frame{Raw: b.Raw, Done: true}, nil
	}
	return &wire.Frame{Raw: b.Raw, Data: b.Data}, nil
}
