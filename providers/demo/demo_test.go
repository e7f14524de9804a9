package demo_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/demo"
)

func TestFormats(t *testing.T) {
	t.Parallel()
	const one, two, why = "What is the weather in Oslo?", "What is the weather in Oslo and the time in Bergen?", "Why is the weather in Oslo so bad?"
	const thought = "<think>\nThe user asks: " + why + "\nI consider which tools I have.\n</think>\n\n"
	for _, tt := range []struct{ model, prompt, want string }{
		{"hermes", one, "Let me check.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"},
		{"hermes", two, "Let me check.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"get_time\", \"arguments\": {\"city\": \"Bergen\"}}\n</tool_call>"},
		{"hermes", why, thought + "Let me check.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"},
		{"qwen3_coder", one, "Let me check.\n\n<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>"},
		{"qwen3_coder", two, "Let me check.\n\n<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=get_time>\n<parameter=city>\nBergen\n</parameter>\n</function>\n</tool_call>"},
		{"openai", one, `{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}`},
		{"openai", two, `{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}, {"name": "get_time", "arguments": {"city": "Bergen"}}]}`},
		{"openai", why, thought + `{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}`},
		{"tool_call_tags", one, "Let me check.\n[TOOL_CALL]\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n[/TOOL_CALL]"},
		{"custom", one, "Let me check.\n<<call get_weather {\"city\":\"Oslo\"}>>"},
		{"custom", two, "Let me check.\n<<call get_weather {\"city\":\"Oslo\"}>>\n<<call get_time {\"city\":\"Bergen\"}>>"},
		{"text", one, "I would have to use a tool for this, and this model uses none."},
		{"echo", `Hi <use tool="f">{"x": 1}</use>`, `Hi <use tool="f">{"x": 1}</use>`},
		{"echo", why, why},
		{"text", "Hi there", "Hello! I am the demo model. How can I help you?"},
	} {
		t.Run(tt.model+"/"+tt.prompt, func(t *testing.T) {
			t.Parallel()
			tools := weather + "," + clock
			whole := read(t, chat(t.Context(), t, fast(), tt.model, body(false, tt.prompt, tools, "")))
			stream := read(t, chat(t.Context(), t, fast(), tt.model, body(true, tt.prompt, tools, `,"stream_options":{"include_usage":true}`)))
			for name, got := range map[string]answer{"whole": whole, "stream": stream} {
				if got.Content != tt.want || got.Role != "assistant" || got.finish != "stop" || len(got.ToolCalls) > 0 || got.usage != 1 {
					t.Errorf("%s: got %+v, want content %q, finish reason stop, usage once", name, got, tt.want)
				}
			}
			if want := (len(tt.want)*2+6)/7 + 3; stream.largest > 4 || !stream.done || stream.chunks != want {
				t.Errorf("got %d chunks of up to %d runes, end marker %v, want %d of up to 4 and one", stream.chunks, stream.largest, stream.done, want)
			}
		})
	}
}

func TestNative(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		got := read(t, chat(t.Context(), t, fast(), "native", body(stream, "Why both, in Oslo and in Bergen?", weather, "")))
		if got.Content != "Let me check." || got.finish != "tool_calls" || !strings.Contains(got.Reasoning, "Why both") {
			t.Errorf("stream %v: got %+v, want content, reasoning and the finish reason tool_calls", stream, got)
		}
		if len(got.ToolCalls) != 2 || got.ToolCalls[0].ID == got.ToolCalls[1].ID {
			t.Fatalf("stream %v: got calls %+v, want two with ids of their own", stream, got.ToolCalls)
		}
		for i, want := range []string{`{"city":"Oslo"}`, `{"city":"Bergen"}`} {
			c := got.ToolCalls[i]
			if c.Function.Name != "get_weather" || c.Function.Arguments != want || c.Type != "function" || !strings.HasPrefix(c.ID, "call_") {
				t.Errorf("stream %v: got call %+v, want get_weather of %s", stream, c, want)
			}
		}
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	const both = weather + "," + clock
	for _, tt := range []struct{ name, prompt, tools, more, want string }{
		{"first tool", "weather in Oslo", both, "", `<<call get_weather {"city":"Oslo"}>>`},
		{"words only", "I think this network is within Oslo", weather, "", `<<call get_weather {"city":"Oslo"}>>`},
		{"no name", "weather?", weather, "", `<<call get_weather {"city":"demo"}>>`},
		{"one tool twice", "the two in Oslo", weather, "", "<<call get_weather {\"city\":\"Oslo\"}>>\n<<call get_weather {\"city\":\"Oslo\"}>>"},
		{"hello", "Hello, weather in Oslo", weather, "", ""},
		{"no tools", "weather in Oslo", "", "", ""},
		{"none", "weather in Oslo", weather, `,"tool_choice":"none"`, ""},
		{"required", "hi Oslo", weather, `,"tool_choice":"required"`, `<<call get_weather {"city":"Oslo"}>>`},
		{"named", "hi Oslo", both, `,"tool_choice":{"type":"function","function":{"name":"get_time"}}`, `<<call get_time {"city":"Oslo"}>>`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := read(t, chat(t.Context(), t, fast(), "custom", body(true, tt.prompt, tt.tools, tt.more)))
			if _, calls, _ := strings.Cut(got.Content, "Let me check.\n"); calls != tt.want || got.Content == "" {
				t.Errorf("got %q, want the calls %q", got.Content, tt.want)
			}
		})
	}
}

func TestToolResults(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"hermes", demo.Echo} {
		got := read(t, chat(t.Context(), t, fast(), model, `{"model":"m","tools":[`+weather+`],"tool_choice":"required","messages":[
			{"role":"user","content":[{"type":"text","text":"both, in Oslo"}]},{"role":"assistant","content":null,"tool_calls":[]},
			{"role":"tool","tool_call_id":"1","content":"12 degrees"},{"role":"tool","tool_call_id":"2","content":[{"type":"text","text":"14:05"}]}]}`))
		if want := "Here is what I found: 12 degrees; 14:05"; got.Content != want || got.finish != "stop" {
			t.Errorf("%s: got %q, finish reason %q, want %q", model, got.Content, got.finish, want)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	tool := `{"type":"function","function":{"name":"f","parameters":{"type":"object","required":["s","e","i","n","b","a","o","u","x","l"],"properties":{
		"s":{"type":["null","string"]},"e":{"type":"string","enum":["celsius","kelvin"]},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},
		"a":{"type":"array","items":{"type":"string"}},"o":{"type":"object","required":["p"],"properties":{"p":{"type":"boolean"},"q":{}}},"u":{"type":"null"},
		"l":{"type":"array"},"optional":{"type":"string"}}}}}`
	got := read(t, chat(t.Context(), t, fast(), "custom", body(false, "go to Ålesund now", tool, "")))
	want := "Let me check.\n" + `<<call f {"s":"Ålesund","e":"celsius","i":3,"n":3,"b":true,"a":["Ålesund"],"o":{"p":true},"u":null,"x":"Ålesund","l":[]}>>`
	if got.Content != want {
		t.Errorf("got %q, want %q", got.Content, want)
	}
}

func TestDeterministic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := func() string {
			var b strings.Builder
			reply := chat(t.Context(), t, fast(), "native", body(true, "two in Oslo", weather, ""))
			defer reply.Close()
			for f, err := reply.Next(); err == nil; f, err = reply.Next() {
				b.Write(f.Raw)
			}
			return b.String()
		}
		if first, second := all(), all(); first != second {
			t.Errorf("got %q, then %q, want the same twice", first, second)
		}
	})
}

func TestUnknownModel(t *testing.T) {
	t.Parallel()
	req, err := gateway.ParseRequest([]byte(body(false, "hi", "", "")))
	if err != nil {
		t.Fatal(err)
	}
	_, err = fast().Chat(t.Context(), "herms", req)
	e := gateway.AsError(err)
	if e.Kind != gateway.NotFound || e.Code != "model_not_found" || !strings.Contains(e.Message, "Similar names: hermes.") || !strings.Contains(e.Message, "hermes, longcat, ernie45") {
		t.Errorf("got %+v, want model_not_found with the models", e)
	}
	for _, text := range []string{`{"model":"m","messages":7}`, `{"model":"m","messages":[{"role":"user","content":7}]}`} {
		req, err := gateway.ParseRequest([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = fast().Chat(t.Context(), "hermes", req); gateway.AsError(err).Kind != gateway.Invalid {
			t.Errorf("%s: got %v, want an error of Kind Invalid", text, err)
		}
	}
}

func TestDelayAndCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const delay = 7 * time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		reply := chat(ctx, t, demo.New(demo.Config{Delay: delay, ChunkRunes: 1}), "text", body(true, "hi", "", ""))
		defer reply.Close()
		began := time.Now()
		for range 3 {
			if f, err := reply.Next(); err != nil || f.More {
				t.Fatalf("got more %v, %v, want a frame that has to be waited for", f.More, err)
			}
		}
		if got := time.Since(began); got != 3*delay {
			t.Errorf("got %v for three frames, want %v", got, 3*delay)
		}
		failed := make(chan error)
		go func() {
			_, err := reply.Next()
			failed <- err
		}()
		synctest.Wait()
		cancel()
		var e *gateway.Error
		if err := <-failed; !errors.As(err, &e) || e.Kind != gateway.Canceled {
			t.Errorf("got %v, want an error of Kind Canceled", err)
		}
		if got := time.Since(began); got != 3*delay {
			t.Errorf("got the error after %v, want it at once", got-3*delay)
		}
	})
}

func TestEnded(t *testing.T) {
	t.Parallel()
	mine := &gateway.Error{Kind: gateway.Overloaded}
	own, cancel := context.WithCancelCause(t.Context())
	cancel(mine)
	late, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	for ctx, want := range map[context.Context]gateway.Kind{own: gateway.Overloaded, late: gateway.Timeout} {
		if _, err := chat(ctx, t, fast(), "text", body(true, "hi", "", "")).Next(); gateway.AsError(err).Kind != want {
			t.Errorf("got %v, want Kind %d", err, want)
		}
	}
	reply := chat(t.Context(), t, demo.New(demo.Config{}), "text", body(true, "hi", "", ""))
	reply.Close()
	reply.Close()
	if _, err := reply.Next(); gateway.AsError(err).Kind != gateway.Canceled {
		t.Errorf("Next behind Close: got %v, want Kind Canceled", err)
	}
}
