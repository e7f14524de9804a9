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
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments"` // a string, in all but a fault
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`

	Details *promptDetails `json:"prompt_tokens_details,omitempty"`
}

type promptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// charactersPerToken is the usual ratio for English text.
const charactersPerToken = 4

// wireCall is a call as it goes on the wire, and what a fault spoils.
type wireCall struct {
	index    *int // in a stream
	id, name string
	args     string
	object   bool // the arguments are not in a string, and not cut into deltas
}

// writer writes one output on the wire.
type writer struct {
	id, model string
	created   int64
	out       output
	calls     []wireCall
	finish    string
	usage     usage
}

// newWriter returns a writer whose ids and counts follow from the request.
func newWriter(m model, body []byte, r *request, now time.Time) *writer {
	w := &writer{id: requestID(body), model: m.name, created: now.Unix(), out: m.write(m.answer(r)), finish: "stop"}
	for i, c := range w.out.calls {
		w.finish = "tool_calls"
		w.calls = append(w.calls, wireCall{index: &i, id: w.callID(i), name: c.name, args: objectJSON(c.args)})
	}
	if m.spoil != nil && len(w.calls) > 0 {
		m.spoil(w, r)
	}
	size := len(w.out.reasoning) + len(w.out.text)
	for _, c := range w.calls {
		size += len(c.name) + len(c.args)
	}
	prompt, answer := 1+r.size(!m.toolless)/charactersPerToken, 1+size/charactersPerToken
	w.usage = usage{PromptTokens: prompt, CompletionTokens: answer, TotalTokens: prompt + answer}
	if m.caches {
		w.usage.Details = &promptDetails{r.cached()}
	}
	return w
}

func requestID(body []byte) string {
	sum := sha256.Sum256(body)
	return "chatcmpl-" + hex.EncodeToString(sum[:12])
}

func (w *writer) callID(i int) string {
	sum := sha256.Sum256([]byte(w.id + "/" + strconv.Itoa(i)))
	return "call_" + hex.EncodeToString(sum[:12])
}

// toolCall writes a call with some of its arguments.
func (c wireCall) toolCall(args string) toolCall {
	f := function{Name: c.name, Arguments: json.RawMessage(quote(args))}
	if c.object {
		f.Arguments = json.RawMessage(args)
	}
	return toolCall{ID: c.id, Type: "function", Function: f}
}

func (w *writer) completion(object string, choices ...choice) *completion {
	return &completion{ID: w.id, Object: object, Created: w.created, Model: w.model, Choices: choices}
}

// whole is the answer in one frame.
func (w *writer) whole() gateway.Frame {
	m := &part{Role: "assistant", Content: &w.out.text, Reasoning: w.out.reasoning}
	for _, c := range w.calls {
		m.ToolCalls = append(m.ToolCalls, c.toolCall(c.args))
	}
	c := w.completion("chat.completion", choice{Message: m, FinishReason: &w.finish})
	c.Usage = &w.usage
	data := encode(c)
	return gateway.Frame{Raw: data, Data: data}
}

// encode writes JSON without the escapes for HTML.
func encode(c *completion) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(c) // its types cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
