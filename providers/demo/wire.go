package demo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/callgate/callgate/gateway"
)

// completion is a whole answer, or a chunk of one.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index        int     `json:"index"`
	Message      *part   `json:"message,omitempty"`
	Delta        *part   `json:"delta,omitempty"`
	FinishReason *string `json:"finish_reason"`
}

// part is a message or a delta.
type part struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	Index    *int     `json:"index,omitempty"` // in a delta only
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// bytesPerToken is the usual ratio for English text.
const bytesPerToken = 4

// writer writes one output on the wire.
type writer struct {
	id, model string
	created   int64
	out       output
	finish    string
	usage     usage
}

// newWriter returns a writer whose ids and counts follow from the request.
func newWriter(model string, body []byte, out output) *writer {
	sum := sha256.Sum256(body)
	w := &writer{id: "chatcmpl-" + hex.EncodeToString(sum[:12]), model: model, created: time.Now().Unix(), out: out, finish: "stop"}
	size := len(out.reasoning) + len(out.text)
	for _, c := range out.calls {
		w.finish = "tool_calls"
		size += len(c.name) + len(objectJSON(c.args))
	}
	prompt, answer := 1+len(body)/bytesPerToken, 1+size/bytesPerToken
	w.usage = usage{prompt, answer, prompt + answer}
	return w
}

// toolCall is the call number i without its arguments.
func (w *writer) toolCall(i int) toolCall {
	sum := sha256.Sum256([]byte(w.id + "/" + strconv.Itoa(i)))
	return toolCall{ID: "call_" + hex.EncodeToString(sum[:12]), Type: "function", Function: function{Name: w.out.calls[i].name}}
}

func (w *writer) completion(object string, choices ...choice) *completion {
	return &completion{ID: w.id, Object: object, Created: w.created, Model: w.model, Choices: choices}
}

// whole is the answer in one frame.
func (w *writer) whole() gateway.Frame {
	m := &part{Role: "assistant", Content: &w.out.text, Reasoning: w.out.reasoning}
	for i, c := range w.out.calls {
		call := w.toolCall(i)
		call.Function.Arguments = objectJSON(c.args)
		m.ToolCalls = append(m.ToolCalls, call)
	}
	c := w.completion("chat.completion", choice{Message: m, FinishReason: &w.finish})
	c.Usage = &w.usage
	data := encode(c)
	return gateway.Frame{Raw: data, Data: data}
}

// stream is the answer in small frames of a number of runes, 0 for 3 and 4 in turn.
func (w *writer) stream(runes int, withUsage bool) []gateway.Frame {
	var frames []gateway.Frame
	add := func(c *completion) { frames = append(frames, event(encode(c))) }
	delta := func(d part) { add(w.completion("chat.completion.chunk", choice{Delta: &d})) }

	delta(part{Role: "assistant", Content: new(string)})
	for _, s := range split(w.out.reasoning, runes) {
		delta(part{Reasoning: s})
	}
	for _, s := range split(w.out.text, runes) {
		delta(part{Content: &s})
	}
	for i, c := range w.out.calls {
		call := w.toolCall(i)
		call.Index = &i
		delta(part{ToolCalls: []toolCall{call}})
		for _, s := range split(objectJSON(c.args), runes) {
			delta(part{ToolCalls: []toolCall{{Index: &i, Function: function{Arguments: s}}}})
		}
	}
	add(w.completion("chat.completion.chunk", choice{Delta: &part{}, FinishReason: &w.finish}))
	if withUsage {
		c := w.completion("chat.completion.chunk")
		c.Choices = []choice{}
		c.Usage = &w.usage
		add(c)
	}
	return append(frames, gateway.Frame{Raw: []byte("data: [DONE]\n\n"), Done: true})
}

func event(data []byte) gateway.Frame {
	const field = "data: "
	raw := append(append([]byte(field), data...), "\n\n"...)
	return gateway.Frame{Raw: raw, Data: raw[len(field) : len(field)+len(data)]}
}

// encode writes JSON without the escapes for HTML.
func encode(c *completion) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(c) // its types cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// split cuts s into pieces of n runes, of 3 and 4 in turn if n is 0.
func split(s string, n int) []string {
	var pieces []string
	rest := []rune(s)
	for i := 0; len(rest) > 0; i++ {
		size := n
		if n == 0 {
			size = 3 + i%2
		}
		size = min(size, len(rest))
		pieces = append(pieces, string(rest[:size]))
		rest = rest[size:]
	}
	return pieces
}
