package demo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/demo"
)

const (
	weather = `{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}}`
	clock   = `{"type":"function","function":{"name":"get_time","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}`
)

// body is a request; tools and more are JSON, more begins with a comma.
func body(stream bool, prompt, tools, more string) string {
	return fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":%q}],"tools":[%s]%s}`, stream, prompt, tools, more)
}

func chat(ctx context.Context, t testing.TB, p *demo.Provider, model, text string) gateway.Reply {
	t.Helper()
	req, err := gateway.ParseRequest([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := p.Chat(ctx, model, req)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// message is what an answer says, whole or joined from deltas.
type message struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	Reasoning string `json:"reasoning_content"`
	ToolCalls []struct {
		Index    int    `json:"index"`
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type answer struct {
	message
	finish  string
	usage   int // chunks or completions with it
	chunks  int
	largest int // runes in a delta
	done    bool
}

func (a *answer) add(t testing.TB, data []byte) {
	t.Helper()
	var c struct {
		ID, Object, Model string
		Created           int64
		Choices           []struct {
			Message, Delta message
			FinishReason   *string `json:"finish_reason"`
		}
		Usage *struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
			Total      int `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	if !strings.HasPrefix(c.ID, "chatcmpl-") || !strings.HasPrefix(c.Object, "chat.completion") || c.Model == "" || c.Created == 0 {
		t.Errorf("got %s, want an id, an object, a model and a time", data)
	}
	a.chunks++
	if u := c.Usage; u != nil {
		a.usage++
		if u.Prompt <= 0 || u.Completion <= 0 || u.Total != u.Prompt+u.Completion {
			t.Errorf("got usage %+v, want counts and their sum", *u)
		}
	}
	for _, choice := range c.Choices {
		if choice.FinishReason != nil {
			a.finish = *choice.FinishReason
		}
		for _, m := range []message{choice.Message, choice.Delta} {
			a.join(m)
		}
	}
}

func (a *answer) join(m message) {
	a.Role += m.Role
	a.Content += m.Content
	a.Reasoning += m.Reasoning
	a.largest = max(a.largest, len([]rune(m.Content)), len([]rune(m.Reasoning)))
	for _, c := range m.ToolCalls {
		if c.ID != "" {
			a.ToolCalls = append(a.ToolCalls, c)
			continue
		}
		a.ToolCalls[c.Index].Function.Arguments += c.Function.Arguments
		a.largest = max(a.largest, len([]rune(c.Function.Arguments)))
	}
}

func read(t testing.TB, reply gateway.Reply) answer {
	t.Helper()
	defer reply.Close()
	var a answer
	for {
		f, err := reply.Next()
		if err == io.EOF {
			return a
		}
		if err != nil {
			t.Fatal(err)
		}
		if a.done {
			t.Errorf("got %q behind the end marker", f.Raw)
		}
		want := string(f.Data)
		if reply.Streamed() {
			want = "data: " + want + "\n\n"
		}
		if f.Done {
			want = "data: [DONE]\n\n"
			a.done = true
		} else {
			a.add(t, f.Data)
		}
		if string(f.Raw) != want {
			t.Errorf("got raw %q, want %q", f.Raw, want)
		}
	}
}

func fast() *demo.Provider { return demo.New(demo.Config{Delay: -1}) }
