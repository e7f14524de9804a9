package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/run"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/wire"
)

// model is a scripted one: it answers the nth request, from 1 on.
type model struct {
	mu     sync.Mutex
	bodies []string
	asked  []*gateway.Request
	answer func(ctx context.Context, n int, r *gateway.Request) (string, error)
	opened int
	closed int
}

// Chat implements run.Chatter.
func (m *model) Chat(ctx context.Context, r *gateway.Request) (*gateway.Response, error) {
	m.mu.Lock()
	m.bodies = append(m.bodies, string(r.Body.Bytes()))
	m.asked = append(m.asked, r)
	n := len(m.bodies)
	m.mu.Unlock()
	text, err := m.answer(ctx, n, r)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.opened++
	m.mu.Unlock()
	s := &gateway.Summary{Origin: gateway.Origin{Provider: "fake", Model: "m"}, Attempts: []gateway.Attempt{{Outcome: "ok"}}}
	s.Requested = time.Now()
	s.Usage = gateway.Usage{Reported: true, Input: 10, Output: 5}
	return &gateway.Response{Reply: &reply{model: m, ctx: ctx, text: text, stream: r.Stream && !strings.HasPrefix(text, "{"), blocks: wire.NewReader(strings.NewReader(text), 0)}, Summary: s}, nil
}

type reply struct {
	model  *model
	ctx    context.Context //nolint:containedctx // that of the request
	text   string
	stream bool
	given  bool
	once   sync.Once
	blocks *wire.Reader
}

func (r *reply) Header() http.Header { return http.Header{"X-Up": {"1"}} }
func (r *reply) Streamed() bool      { return r.stream }
func (r *reply) Close() error {
	r.once.Do(func() { r.model.mu.Lock(); r.model.closed++; r.model.mu.Unlock() })
	return nil
}

func (r *reply) Next() (*wire.Frame, error) {
	if !r.stream {
		if r.given {
			return nil, io.EOF
		}
		r.given = true
		return &wire.Frame{Raw: []byte(r.text), Data: []byte(r.text), Whole: true}, nil
	}
	b, err := r.blocks.Next()
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(b.Data), `"hang"`) {
		<-r.ctx.Done()
		return nil, gateway.Ended(r.ctx)
	}
	f := &wire.Frame{Raw: b.Raw, Data: b.Data}
	if string(b.Data) == "[DONE]" {
		f.Data, f.Done = nil, true
	}
	return f, nil
}

// fc is a call that the model makes.
type fc struct{ id, name, args string }

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

// says is an answer of the model, streamed in several chunks or whole.
func says(stream bool, n int, text string, calls ...fc) string {
	finish := "stop"
	if len(calls) > 0 {
		finish = "tool_calls"
	}
	usage := `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":2}}`
	if !stream {
		var list []string
		for _, c := range calls {
			list = append(list, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}`, c.id, c.name, quote(c.args)))
		}
		tools := ""
		if len(list) > 0 {
			tools = `,"tool_calls":[` + strings.Join(list, ",") + `]`
		}
		return fmt.Sprintf(`{"id":"r%d","object":"chat.completion","created":%d,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%s%s},"finish_reason":%q}],"usage":%s}`, n, n, quote(text), tools, finish, usage)
	}
	var b strings.Builder
	chunk := func(delta, reason string) {
		if reason == "" {
			reason = "null"
		} else {
			reason = quote(reason)
		}
		fmt.Fprintf(&b, "data: {\"id\":\"r%d\",\"object\":\"chat.completion.chunk\",\"created\":%d,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", n, n, delta, reason)
	}
	chunk(`{"role":"assistant","content":""}`, "")
	for i := 0; i < len(text); i += 5 {
		chunk(`{"content":`+quote(text[i:min(len(text), i+5)])+`}`, "")
	}
	for i, c := range calls {
		chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":""}}]}`, i, c.id, c.name), "")
		for j := 0; j < len(c.args); j += 4 {
			chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quote(c.args[j:min(len(c.args), j+4)])), "")
		}
	}
	chunk(`{}`, finish)
	fmt.Fprintf(&b, "data: {\"id\":\"r%d\",\"object\":\"chat.completion.chunk\",\"created\":%d,\"model\":\"m\",\"choices\":[],\"usage\":%s}\n\ndata: [DONE]\n\n", n, n, usage)
	return b.String()
}

// shelf is a catalogue of tools that are functions.
type shelf struct {
	mu      sync.Mutex
	tools   []toolserver.Tool
	missing []toolserver.Missing
	do      map[string]func(ctx context.Context, args string) (*toolserver.Result, error)
	calls   []string
}

func (s *shelf) add(t toolserver.Tool, do func(ctx context.Context, args string) (*toolserver.Result, error)) {
	t.Alias = t.Server + "__" + t.Name
	if t.Parameters == nil {
		t.Parameters = json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)
	}
	s.tools = append(s.tools, t)
	if s.do == nil {
		s.do = map[string]func(context.Context, string) (*toolserver.Result, error){}
	}
	s.do[t.Alias] = do
}

func (s *shelf) Tools(servers []string) (tools []toolserver.Tool, missing []toolserver.Missing) {
	for _, t := range s.tools {
		if slices.Contains(servers, t.Server) {
			tools = append(tools, t)
		}
	}
	for _, m := range s.missing {
		if slices.Contains(servers, m.Server) {
			missing = append(missing, m)
		}
	}
	return tools, missing
}

func (s *shelf) Call(ctx context.Context, alias string, args json.RawMessage) (*toolserver.Result, error) {
	s.mu.Lock()
	s.calls = append(s.calls, alias+string(args))
	do := s.do[alias]
	s.mu.Unlock()
	return do(ctx, string(args))
}

func (s *shelf) made() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.calls))
}

func text(s string) func(context.Context, string) (*toolserver.Result, error) {
	return func(context.Context, string) (*toolserver.Result, error) { return &toolserver.Result{Text: s}, nil }
}

// bench is a runner with its model and tools.
type bench struct {
	t      *testing.T
	model  *model
	shelf  *shelf
	runner *run.Runner
	o      run.Options
}

// newBench makes one. Its script answers the nth request.
func newBench(t *testing.T, policy run.Policy, script func(n int, r *gateway.Request) string, tools ...toolserver.Tool) *bench {
	t.Helper()
	b := &bench{t: t, model: &model{}, shelf: &shelf{}}
	b.model.answer = func(_ context.Context, n int, r *gateway.Request) (string, error) { return script(n, r), nil }
	for _, tool := range tools {
		b.shelf.add(tool, text("result of "+tool.Name))
	}
	keeper, err := memory.New(store.Options{TTL: time.Hour, Limits: store.Limits{Bytes: 1 << 20, Entries: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keeper.Close() })
	b.o = run.Options{Inner: b.model, Catalogue: b.shelf, Servers: []string{"a", "b"}, Policy: policy, Keeper: keeper, Secret: []byte("secret")}
	b.runner = run.New(b.o)
	return b
}

// made makes the runner again, with other options.
func (b *bench) change(f func(o *run.Options)) {
	f(&b.o)
	b.runner = run.New(b.o)
}

// answer is what a client gets.
type answer struct {
	raw     string
	text    string
	calls   []fc
	finish  []string
	roles   int
	ids     map[string]bool
	usage   []string
	events  []map[string]any
	rounds  int
	summary *gateway.Summary
	err     error
}

func (b *bench) ask(body string, change ...func(*gateway.Request)) *answer {
	b.t.Helper()
	req, err := gateway.ParseRequest([]byte(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.From.Header = http.Header{}
	for _, f := range change {
		f(req)
	}
	return b.send(b.t.Context(), req)
}

func (b *bench) send(ctx context.Context, req *gateway.Request) *answer {
	b.t.Helper()
	a := &answer{ids: map[string]bool{}}
	resp, err := b.runner.Chat(ctx, req)
	if err != nil {
		a.err = err
		return a
	}
	defer resp.Close()
	a.summary = resp.Summary
	for {
		f, err := resp.Next()
		if err != nil {
			if err != io.EOF {
				a.err = err
			}
			return a
		}
		if f != nil {
			a.add(b.t, f, resp.Streamed())
		}
	}
}

func (a *answer) add(t *testing.T, f *wire.Frame, stream bool) {
	t.Helper()
	a.raw += string(f.AppendTo(nil))
	if f.Data == nil {
		return
	}
	var c struct {
		ID      string
		Choices []struct {
			Delta, Message struct {
				Role    string
				Content string
				Calls   []struct {
					Index    int
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			Finish *string `json:"finish_reason"`
		}
		Usage    json.RawMessage
		Callgate *struct {
			Tool   map[string]any
			Tools  []map[string]any
			Rounds []json.RawMessage
		}
	}
	if err := json.Unmarshal(f.Data, &c); err != nil {
		t.Fatalf("got %s, which is no JSON: %v", f.Data, err)
	}
	a.ids[c.ID] = true
	if len(c.Usage) > 0 && string(c.Usage) != "null" {
		a.usage = append(a.usage, string(c.Usage))
	}
	if c.Callgate != nil {
		if c.Callgate.Tool != nil {
			a.events = append(a.events, c.Callgate.Tool)
		}
		a.events = append(a.events, c.Callgate.Tools...)
		a.rounds += len(c.Callgate.Rounds)
	}
	for _, ch := range c.Choices {
		if ch.Finish != nil {
			a.finish = append(a.finish, *ch.Finish)
		}
		d := ch.Delta
		if !stream {
			d = ch.Message
		}
		if d.Role != "" {
			a.roles++
		}
		a.text += d.Content
		for i, tc := range d.Calls {
			if !stream {
				tc.Index = i
			}
			for len(a.calls) <= tc.Index {
				a.calls = append(a.calls, fc{})
			}
			a.calls[tc.Index].id += tc.ID
			a.calls[tc.Index].name += tc.Function.Name
			a.calls[tc.Index].args += tc.Function.Arguments
		}
	}
}

// one checks that the answer is one: one id, one role, one finish reason, one usage.
func (a *answer) one(t *testing.T, finish string) {
	t.Helper()
	if a.err != nil {
		t.Fatalf("got the error %v, want an answer; so far:\n%s", a.err, a.raw)
	}
	if len(a.ids) != 1 || a.roles != 1 || len(a.finish) != 1 || a.finish[0] != finish || len(a.usage) != 1 {
		t.Fatalf("got ids %v, %d roles, finish %v, usage %v, want one of each and %s:\n%s", a.ids, a.roles, a.finish, a.usage, finish, a.raw)
	}
}

// results are the contents of the tool messages of the nth request.
func (b *bench) results(n int) (list []map[string]any) {
	b.t.Helper()
	var body struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal([]byte(b.model.bodies[n-1]), &body); err != nil {
		b.t.Fatal(err)
	}
	for _, m := range body.Messages {
		if m.Role == "tool" {
			var r map[string]any
			if err := json.Unmarshal([]byte(m.Content), &r); err != nil {
				r = map[string]any{"raw": m.Content}
			}
			list = append(list, r)
		}
	}
	return list
}

func failing(e *toolserver.Error) func(context.Context, string) (*toolserver.Result, error) {
	return func(context.Context, string) (*toolserver.Result, error) { return nil, e }
}

var errTest = errors.New("test")
