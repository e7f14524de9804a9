package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/gateway/protocol/messages/messagestest"
)

// written is a text of the corpus of formats.
type written struct {
	ID, Parser, Input string
	Reasoning         string
	FinishReason      string `json:"finish_reason"`
}

func corpus(t *testing.T) (all []written) {
	t.Helper()
	data, err := os.ReadFile("../../gateway/chain/testdata/texts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var w written
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	return all
}

// corpusTools are the tools of the corpus, in the form of a protocol.
func corpusTools(t *testing.T, form string) string {
	t.Helper()
	data, err := os.ReadFile("../../gateway/chain/testdata/tools.json")
	if err != nil {
		t.Fatal(err)
	}
	var tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	if err := json.Unmarshal(data, &tools); err != nil {
		t.Fatal(err)
	}
	var out []any
	for _, tool := range tools {
		if form == "messages" {
			out = append(out, map[string]any{"name": tool.Name, "description": tool.Description, "input_schema": tool.Parameters})
		} else {
			out = append(out, map[string]any{"type": "function", "function": tool})
		}
	}
	b, _ := json.Marshal(out)
	return string(b)
}

// meaning is what an answer says, whatever its protocol.
type meaning struct {
	text, thoughts string
	calls          []string
}

// TestMessagesFormats sends every text of the corpus of formats, in pieces of several sizes,
// through the real gateway to a client of the Messages API. Every answer must be in order, and
// mean what a client of chat completions gets.
func TestMessagesFormats(t *testing.T) {
	t.Parallel()
	all := corpus(t)
	parsers := map[string]bool{}
	url := upstream(t, func(w http.ResponseWriter, r received) {
		var req struct{ Model string }
		_ = json.Unmarshal([]byte(r.body), &req)
		parts := strings.Split(req.Model, "-")
		n, _ := strconv.Atoi(parts[len(parts)-2])
		cut, _ := strconv.Atoi(parts[len(parts)-1])
		c := all[n]
		reason := c.FinishReason
		if reason == "" {
			reason = "stop"
		}
		if !r.wantsStream() {
			w.Header().Set("content-type", "application/json")
			b, _ := json.Marshal(c.Input)
			fmt.Fprintf(w, `{"id":"c1","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":%q}]}`, b, reason)
			return
		}
		w.Header().Set("content-type", "text/event-stream")
		var out strings.Builder
		runes := []rune(c.Input)
		for len(runes) > 0 {
			k := min(cut, len(runes))
			b, _ := json.Marshal(string(runes[:k]))
			runes = runes[k:]
			fmt.Fprintf(&out, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"up\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":null}]}\n\n", b)
		}
		io.WriteString(w, out.String()+strings.Replace(finish, `"stop"`, strconv.Quote(reason), 1)+done)
	})
	config := fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q}}\nmodels:\n", url)
	for _, c := range all {
		for _, start := range []string{"", "open", "auto"} {
			name := c.Parser + "_" + start
			if c.Reasoning != start || parsers[name] {
				continue
			}
			parsers[name] = true
			extra := ""
			if start != "" {
				extra = ", reasoning: " + start
			}
			config += fmt.Sprintf("  \"%s-*\": {targets: [{provider: up, parser: %s%s}]}\n", name, c.Parser, extra)
		}
	}
	g := serve(t, config)
	tools := map[string]string{"chat": corpusTools(t, "chat"), "messages": corpusTools(t, "messages")}
	var running sync.WaitGroup
	slots := make(chan bool, 4)
	for n, c := range all {
		slots <- true
		running.Go(func() {
			defer func() { <-slots }()
			for _, cut := range []int{1, 3, 17, 1 << 20} {
				model := fmt.Sprintf("%s_%s-%d-%d", c.Parser, c.Reasoning, n, cut)
				want := chatMeaning(t, g, model, tools["chat"])
				for _, streamed := range []bool{true, false} {
					if cut > 1 && !streamed {
						continue
					}
					r := g.do(g.request("POST", "/v1/messages", fmt.Sprintf(
						`{"model":%q,"max_tokens":1000,"stream":%v,"thinking":{"type":"enabled","budget_tokens":1024},"tools":%s,"messages":[{"role":"user","content":"go"}]}`, model, streamed, tools["messages"])))
					check := messagestest.Whole
					if streamed {
						check = messagestest.Stream
					}
					m, err := check([]byte(r.body))
					if r.status != 200 || err != nil {
						t.Errorf("%s in pieces of %d, streamed %v: status %d, %v:\n%s", c.ID, cut, streamed, r.status, err, r.body)
						return
					}
					got := messageMeaning(m)
					if n := len(want.calls) - 1; c.FinishReason == "length" && !streamed && len(got.calls) == n {
						want.calls = want.calls[:n:n] // a call that was cut cannot be whole
					}
					if !got.same(want) {
						t.Errorf("%s in pieces of %d, streamed %v:\ngot  %q\nwant %q\n%s", c.ID, cut, streamed, got, want, r.body)
						return
					}
				}
			}
		})
	}
	running.Wait()
}

func (m meaning) same(other meaning) bool {
	return strings.TrimSpace(m.text) == strings.TrimSpace(other.text) && m.thoughts == other.thoughts && slices.Equal(m.calls, other.calls)
}

func messageMeaning(message *messagestest.Message) (m meaning) {
	for _, b := range message.Content {
		m.text += b.Text
		m.thoughts += b.Thinking
		if b.Type == "tool_use" {
			m.calls = append(m.calls, b.Name+" "+string(b.Input))
		}
	}
	return m
}

// chatMeaning is what a client of chat completions gets.
func chatMeaning(t *testing.T, g *gate, model, tools string) (m meaning) {
	r := g.chat(fmt.Sprintf(`{"model":%q,"stream":true,"tools":%s,"messages":[{"role":"user","content":"go"}]}`, model, tools))
	type piece struct {
		Content   string
		Reasoning string `json:"reasoning_content"`
		Calls     []struct {
			Index    int
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	for line := range strings.SplitSeq(r.body, "\n") {
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		var chunk struct{ Choices []struct{ Delta piece } }
		if err := json.Unmarshal([]byte("{"+data), &chunk); err != nil {
			t.Errorf("%v in %s", err, data)
		}
		for _, c := range chunk.Choices {
			m.text += c.Delta.Content
			m.thoughts += c.Delta.Reasoning
			for _, call := range c.Delta.Calls {
				for len(m.calls) <= call.Index {
					m.calls = append(m.calls, "")
				}
				if call.Function.Name != "" {
					m.calls[call.Index] = call.Function.Name + " "
				}
				m.calls[call.Index] += call.Function.Arguments
			}
		}
	}
	return m
}
