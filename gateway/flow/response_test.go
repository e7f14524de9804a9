package flow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/chain/chaintest"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/protocol/chat"
	"github.com/callgate/callgate/wasm-parsers/all"
)

// native is a ParserSource that runs the built-in parsers in this process.
type native struct{ chaintest.Runner }

func (n native) Plan(_ context.Context, spec gateway.ParserSpec, model string) (*chain.Plan, gateway.ParserSession, error) {
	candidates := slices.DeleteFunc(n.Candidates(), func(c chain.Candidate) bool {
		return !spec.Auto && c.Name != chain.Fallback && !slices.Contains(spec.Names, c.Name)
	})
	return chain.NewPlan(candidates, chain.PlanOptions{Model: model, Reasoning: spec.Reasoning, Auto: spec.Auto}), n, nil
}

func (n native) Close() {}

// scripted is a provider that answers with given blocks.
type scripted struct {
	blocks []string // of a stream, without the blank line; or one whole completion
	whole  bool
	end    error // instead of io.EOF
}

func (s *scripted) Chat(context.Context, string, *gateway.Request) (gateway.Reply, error) {
	return &reply{scripted: s}, nil
}

type reply struct {
	*scripted
	at int
}

func (r *reply) Header() http.Header { return http.Header{} }
func (r *reply) Streamed() bool      { return !r.whole }
func (r *reply) Close() error        { return nil }

func (r *reply) Next() (*gateway.Frame, error) {
	if r.at == len(r.blocks) {
		if r.end != nil {
			return nil, r.end
		}
		return nil, io.EOF
	}
	raw := []byte(r.blocks[r.at])
	r.at++
	if r.whole {
		return &gateway.Frame{Raw: raw, Data: raw}, nil
	}
	f := &gateway.Frame{Raw: append(raw, "\n\n"...)}
	if data, ok := bytes.CutPrefix(raw, []byte("data: ")); ok {
		if f.Done = string(data) == "[DONE]"; !f.Done {
			f.Data = bytes.ReplaceAll(data, []byte("\ndata: "), []byte{'\n'})
		}
	}
	return f, nil
}

// reader reads what the client of a response gets, as the HTTP server does.
type reader struct {
	resp   *gateway.Response
	writer *chat.Writer
	closed bool
}

func reads(resp *gateway.Response) *reader { return &reader{resp: resp, writer: chat.NewWriter(resp)} }

// next is the next piece, and the end or why there is none.
func (r *reader) next() ([]byte, error) {
	f, err := r.resp.Next()
	switch {
	case f != nil && f.Whole:
		return r.writer.Whole(f)
	case f != nil:
		return r.writer.Frame(nil, f)
	case err == io.EOF && !r.closed:
		r.closed = true
		return r.writer.Close(nil)
	}
	return nil, err
}

const request = `{"model":"m","stream":true,"messages":[],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}},{"type":"function","function":{"name":"get_time"}}]}`

// open sends a request through a gateway.
func open(t failer, p gateway.Provider, target gateway.Target, body string) *gateway.Response {
	t.Helper()
	resp, err := ask(t, p, target, body)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// ask sends a request through a gateway. A whole answer is for a client that asked for
// one.
func ask(t failer, p gateway.Provider, target gateway.Target, body string) (*gateway.Response, error) {
	t.Helper()
	if s, ok := p.(*scripted); ok && s.whole {
		body = strings.Replace(body, `"stream":true`, `"stream":false`, 1)
	}
	target.Provider = "p"
	g, err := flow.New(flow.Options{
		Providers:   map[string]gateway.Provider{"p": p},
		Routes:      map[string][]gateway.Target{"m": {target}},
		Parsers:     native{chaintest.Runner{Specs: all.Specs()}},
		RoutePolicy: reporting,
	})
	if err != nil {
		t.Fatal(err)
	}
	req, err := gateway.ParseRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return g.Chat(context.Background(), req)
}

// reporting is the policy of a configuration that says nothing.
var reporting = flow.RoutePolicy{Guard: gateway.Report, Loop: gateway.LoopReport, Binding: gateway.BindingReport, References: gateway.Repair}

// exchange sends a request through a gateway and returns all that comes back.
func exchange(t failer, p gateway.Provider, target gateway.Target, body string) (string, *gateway.Response, error) {
	t.Helper()
	resp, err := ask(t, p, target, body)
	if err != nil {
		return "", &gateway.Response{Summary: &gateway.Summary{}}, err
	}
	out, err := drain(resp)
	return out, resp, err
}

// drain returns all that comes of an answer, and closes it.
func drain(resp *gateway.Response) (string, error) {
	defer resp.Close()
	var out strings.Builder
	for in := reads(resp); ; {
		piece, err := in.next()
		if err == io.EOF {
			return out.String(), nil
		}
		if err != nil {
			return out.String(), err
		}
		out.Write(piece)
	}
}

var repair = gateway.Target{Mode: gateway.Repair, Parsers: gateway.ParserSpec{
	Names: []string{"hermes", "qwen3_coder", "openai", "tool_call_tags"}, Reasoning: true,
}, Reasoning: chain.Auto, AllowEmpty: true}

// delta is a block of a stream with some text and unknown members at every level.
func delta(text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`data: {"id":"c1","x_top":{"n":1.0},"choices":[{"index":0,"x_choice":[1,2],"delta":{"x_delta":null,"content":%s},"logprobs":null,"finish_reason":null}],"usage":null}`, quoted)
}

func finish(reason string) string {
	return fmt.Sprintf(`data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":%q}],"usage":{"total_tokens":7}}`, reason)
}

func stream(reason string, texts ...string) *scripted {
	s := &scripted{blocks: []string{`data: {"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`}}
	for _, text := range texts {
		s.blocks = append(s.blocks, delta(text))
	}
	s.blocks = append(s.blocks, finish(reason), "data: [DONE]")
	return s
}

func (r *scripted) raw() string { return strings.Join(r.blocks, "\n\n") + "\n\n" }

// message is what a client has when it has joined a stream.
type message struct {
	content, reasoning, finish string
	calls                      []string // name(arguments)
	ids                        []string
	done                       bool
}

// join reads a stream as a client does.
func join(t failer, s string) message {
	t.Helper()
	var m message
	var names, args []string
	for block := range strings.SplitSeq(strings.TrimSuffix(s, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(block, "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			m.done = true
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string `json:"content"`
					Reasoning string `json:"reasoning_content"`
					Calls     []struct {
						Index    int
						ID       string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
				Finish string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		for _, c := range chunk.Choices {
			m.content += c.Delta.Content
			m.reasoning += c.Delta.Reasoning
			m.finish += c.Finish
			for _, call := range c.Delta.Calls {
				if call.Index == len(names) {
					names, args, m.ids = append(names, call.Function.Name), append(args, ""), append(m.ids, call.ID)
				} else if call.Index > len(names) || call.ID != "" || call.Function.Name != "" {
					t.Fatalf("unexpected call %+v behind %v", call, names)
				}
				args[call.Index] += call.Function.Arguments
			}
		}
	}
	for i := range names {
		m.calls = append(m.calls, names[i]+"("+args[i]+")")
	}
	return m
}

// TestPassThrough holds that a stream without markup comes out byte for byte,
// whatever its text looks like.
func TestPassThrough(t *testing.T) {
	t.Parallel()
	fragment := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", " ", "\n", "<", "<tool", "_call", " a < b ", "```\n", "```", "<tool_cal", "[TOOL", "{", `{"a": 1}`, "é", "日本", "word ", "<thin", "<function", "\"",
	}))
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(fragment, 0, 12).Draw(t, "texts")
		joined := strings.Join(texts, "")
		for _, marker := range []string{"<tool_call>", "<function=", "[TOOL_CALL]", "think", "THINK"} {
			if strings.Contains(joined, marker) {
				t.Skip()
			}
		}
		s := stream("stop", texts...)
		s.blocks = append([]string{": ping"}, s.blocks...)
		out, resp, err := exchange(t, s, repair, request)
		if err != nil || out != s.raw() || resp.Summary.Changed {
			t.Fatalf("%q %v\n got %s\nwant %s", texts, err, out, s.raw())
		}
	})
}

// failer is what both testing.T and rapid.T are.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func TestStream(t *testing.T) {
	t.Parallel()
	const call = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"
	letters := func(s string) (out []string) {
		for _, r := range s {
			out = append(out, string(r))
		}
		return out
	}
	late := stream("stop", "Sure. ", call)
	late.blocks = append(late.blocks[:len(late.blocks)-2], "data: [DONE]")
	multi := &scripted{blocks: []string{
		`data: {"choices":[{"index":0,"delta":{"content":"a <tool"}},{"index":1,"delta":{"content":"b "}}]}`,
		`data: {"choices":[{"index":1,"delta":{"content":"plain"}}]}`,
		`data: {"choices":[{"index":0,"delta":{"content":"_call>{\"name\": \"get_time\", \"arguments\": {}}</tool_call>"}},{"index":1,"delta":{"content":" text"}}]}`,
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `data: [DONE]`,
	}}
	withNative := stream("tool_calls", "x"+call)
	withNative.blocks[1] = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"n","type":"function","function":{"name":"get_time","arguments":"{}"}}]}}]}`
	withNative.blocks = append(withNative.blocks[:2], append([]string{delta(call)}, withNative.blocks[2:]...)...)
	for name, c := range map[string]struct {
		from   *scripted
		target gateway.Target
		want   message
	}{
		"one call":            {stream("stop", "Sure.\n", call), repair, message{content: "Sure.", finish: "tool_calls", calls: []string{`get_weather({"city": "Oslo"})`}, done: true}},
		"letter by letter":    {stream("stop", letters("Sure.\n"+call+"\nDone.")...), repair, message{content: "Sure.\nDone.", finish: "tool_calls", calls: []string{`get_weather({"city": "Oslo"})`}, done: true}},
		"all in one delta":    {stream("stop", call+call), repair, message{finish: "tool_calls", calls: []string{`get_weather({"city": "Oslo"})`, `get_weather({"city": "Oslo"})`}, done: true}},
		"length stays length": {stream("length", call, call[:60]), repair, message{finish: "length", calls: []string{`get_weather({"city": "Oslo"})`, `get_weather({"city": "O)`}, done: true}},
		"reasoning":           {stream("stop", "<think>\nHm.\n</think>\n\nHello."), repair, message{reasoning: "Hm.", content: "Hello.", finish: "stop", done: true}},
		"no finish reason":    {late, repair, message{content: "Sure.", finish: "tool_calls", calls: []string{`get_weather({"city": "Oslo"})`}, done: true}},
		"two choices":         {multi, repair, message{content: "a" + "b plain text", finish: "tool_calls", calls: []string{`get_time({})`}, done: true}},
		"behind native calls": {withNative, repair, message{finish: "tool_calls", calls: []string{`get_time({})`, `get_weather({"city": "Oslo"})`}, done: true}},
		"report":              {stream("stop", call), gateway.Target{Mode: gateway.Report, Parsers: repair.Parsers}, message{content: call, finish: "stop", done: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, _, err := exchange(t, c.from, c.target, request)
			if err != nil {
				t.Fatal(err)
			}
			got := join(t, out)
			for i, id := range got.ids {
				if id == "" {
					t.Errorf("call %d has no id", i)
				}
			}
			got.ids = nil
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got  %+v\nwant %+v\nin %s", got, c.want, out)
			}
		})
	}
}

// TestStreamKeepsUnknownMembers holds that a chunk which is written anew keeps what
// the gateway does not know.
func TestStreamKeepsUnknownMembers(t *testing.T) {
	t.Parallel()
	out, resp, err := exchange(t, stream("stop", "a<tool_call>{\"name\":\"get_time\"}</tool_call>"), repair, request)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"x_top":{"n":1.0}`, `"x_choice":[1,2]`, `"x_delta":null`, `"usage":{"total_tokens":7}`,
		": callgate mode=repair parser=hermes calls=1\n\ndata: [DONE]\n\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is missing in\n%s", want, out)
		}
	}
	if strings.Count(out, `"total_tokens":7`) != 1 {
		t.Errorf("usage is not there once:\n%s", out)
	}
	if s := resp.Summary; !s.Changed || s.Calls != 1 || fmt.Sprint(s.Parsers) != "[hermes]" {
		t.Errorf("summary is %+v", s)
	}
}

// TestBrokenCall holds that a call whose beginning was sent and whose end is broken
// ends the stream with an error, and is text in a whole answer.
func TestBrokenCall(t *testing.T) {
	t.Parallel()
	const broken = "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", bad bad}}</tool_call>"
	out, _, err := exchange(t, stream("stop", broken[:60], broken[60:]), repair, request)
	var e *gateway.Error
	if !errors.As(err, &e) || e.CodeOrDefault() != "invalid_tool_call" || e.Kind != gateway.BadCall || strings.Contains(out, "[DONE]") {
		t.Errorf("got %v behind %s", err, out)
	}
	out, resp, err := exchange(t, whole(broken, "stop"), repair, request)
	if err != nil || out != whole(broken, "stop").blocks[0] || fmt.Sprint(resp.Summary.Warnings) != "[broken_call]" {
		t.Errorf("got %v, %v, %s", err, resp.Summary.Warnings, out)
	}
}

func whole(text, reason string) *scripted {
	quoted, _ := json.Marshal(text)
	return &scripted{whole: true, blocks: []string{fmt.Sprintf(
		`{"id":"c1","x_top":9007199254740993,"choices":[{"index":0,"x_choice":true,"message":{"role":"assistant","content":%s,"x_message":2.50},"finish_reason":%q}],"usage":{"total_tokens":7}}`, quoted, reason)}}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	body := strings.Replace(request, `"stream":true`, `"stream":false`, 1)
	plain := whole("No call, but <tool_ and {}.", "stop")
	if out, resp, err := exchange(t, plain, repair, body); err != nil || out != plain.blocks[0] || resp.Summary.Changed {
		t.Errorf("a plain answer was changed: %v %s", err, out)
	}
	out, resp, err := exchange(t, whole("<think>Hm.</think>\nSure.\n<tool_call>{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}</tool_call>", "stop"), repair, body)
	if err != nil {
		t.Fatal(err)
	}
	var id struct {
		Choices []struct {
			Message struct {
				Calls []struct{ ID string } `json:"tool_calls"`
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &id); err != nil || len(id.Choices) != 1 || len(id.Choices[0].Message.Calls) != 1 {
		t.Fatalf("%v in %s", err, out)
	}
	want := `{"id":"c1","x_top":9007199254740993,"choices":[{"index":0,"x_choice":true,"message":{"role":"assistant","content":"Sure.","x_message":2.50,"reasoning_content":"Hm.","tool_calls":[{"id":"` +
		id.Choices[0].Message.Calls[0].ID + `","type":"function","function":{"name":"get_weather","arguments":"{\"city\": \"Oslo\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"total_tokens":7}}`
	if out != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
	if resp.Summary.RepairList() != "args_json=1,reasoning_text=1" {
		t.Errorf("repairs are %q", resp.Summary.RepairList())
	}
}

// TestUpstreamCut holds that text which was held goes out before the error.
func TestUpstreamCut(t *testing.T) {
	t.Parallel()
	s := stream("stop", "So:", "Hello <tool_")
	s.blocks, s.end = s.blocks[:3], &gateway.Error{Kind: gateway.Unavailable, Code: "upstream_cut"}
	out, _, err := exchange(t, s, repair, request)
	if err == nil || out != s.raw() {
		t.Errorf("got %v, %q, want the error behind %q", err, out, s.raw())
	}
}

// TestNativeCallsStream holds that the upstream's own calls are not kept back by white
// space before them, which might have touched markup.
func TestNativeCallsStream(t *testing.T) {
	t.Parallel()
	call := `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`
	for _, texts := range [][]string{{"Let me check.\n\n"}, {"\n"}, {"Let me", " check. "}, {"a", "\n", "\n"}} {
		s := stream("tool_calls", texts...)
		at := len(s.blocks) - 2
		s.blocks = append(s.blocks[:at:at], append([]string{call}, s.blocks[at:]...)...)
		resp := open(t, s, repair, request)
		defer resp.Close()
		var out strings.Builder
		for in := reads(resp); !strings.Contains(out.String(), `"arguments":"{"`); {
			piece, err := in.next()
			if err != nil || strings.Contains(string(piece), "finish_reason\":\"tool") {
				t.Fatalf("%q: the call came with %q, %v, behind %s", texts, piece, err, out.String())
			}
			out.Write(piece)
		}
		if want := strings.Join(s.blocks[:at+1], "\n\n") + "\n\n"; out.String() != want {
			t.Errorf("%q: got\n%s\nwant\n%s", texts, out.String(), want)
		}
	}
}
