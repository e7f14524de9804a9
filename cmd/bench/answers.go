package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The models of the mock upstream. A request's model decides about the answer.
const (
	modelClean  = "clean"  // 1 KB of prose
	modelLarge  = "large"  // 16 KB of prose
	modelText   = "text"   // a tool call as text
	modelSlow   = "slow"   // the same, streamed slowly
	modelNative = "native" // a call in tool_calls
	// modelPlain writes 1 KB of words without a sign that a marker begins with, and
	// modelPlainLong twice that in twice the chunks.
	modelPlain     = "plain"
	modelPlainLong = "plain-long"
)

// largeAnswer is how many bytes of JSON the text of a large answer is.
const largeAnswer = 32 << 20

// largeTexts are what large answers consist of, by the names of their models.
var largeTexts = map[string]string{
	"prose":         prose(4 << 10),
	"json":          `{"id": 12, "name": "a \"thing\"", "tags": ["x", "y"], "size": {"w": 1.5, "h": null}},` + "\n",
	"angles":        "<",
	"brackets":      "[",
	"braces":        `{"`,
	"fences":        "```a",
	"markers":       trigger,
	"functions":     "<function=a>",
	"reasoning":     "</think>a",
	"calls":         trigger + `{"name": "write_file", "arguments": {}}</tool_call>`,
	"unclosed call": escaped(4 << 10),
}

// largeText is a model's text of about size bytes of JSON.
func largeText(model string, size int) string {
	part := largeTexts[model]
	text := strings.Repeat(part, size/len(quoted(part)[2:]))
	if model == "unclosed call" {
		return callHead + text
	}
	return text
}

// chunks is how many pieces of text, or of a call, a stream has. Its finish reason and
// its end marker come on top.
const chunks = 100

const (
	// slowPause is the pause before each piece of a slow stream, which so takes 2 s.
	slowPause = 20 * time.Millisecond
	// plainPause is that of streams whose pieces a gateway is to read one by one.
	plainPause = time.Millisecond
)

// models are those that the mock has.
func models() []string {
	return []string{modelClean, modelLarge, modelText, modelSlow, modelNative, modelPlain, modelPlainLong}
}

// chunksOf is how many pieces a model's stream has.
func chunksOf(model string) int {
	if model == modelPlainLong {
		return 2 * chunks
	}
	return chunks
}

// modelAnswer is what a model writes: its text, or the arguments of its call.
func modelAnswer(model string) string {
	switch model {
	case modelLarge:
		return prose(16 << 10)
	case modelText, modelSlow:
		return longCall(chunks * deltaSize)
	case modelNative:
		return longArguments((chunks - 1) * deltaSize) // the call's beginning is a piece, too
	case modelPlain, modelPlainLong:
		return strings.Repeat("All is plain here. ", chunksOf(model))[:chunksOf(model)*deltaSize]
	}
	return prose(1 << 10)
}

// answer is a model's answer as bytes to send.
type answer struct {
	whole  []byte   // with its HTTP header
	head   []byte   // HTTP header of a stream
	frames [][]byte // HTTP chunks of a stream
	pause  time.Duration
}

// newAnswers makes the answers of all models, those with as much as large bytes when they
// are asked for.
func newAnswers(large int) map[string]func() *answer {
	answers := map[string]func() *answer{}
	for _, model := range models() {
		a := newAnswer(model)
		answers[model] = func() *answer { return a }
	}
	for model := range largeTexts {
		answers[model] = sync.OnceValue(func() *answer { return &answer{whole: wholeAnswer(model, largeText(model, large))} })
	}
	return answers
}

const (
	envelope = `{"id":"chatcmpl-bench","object":"chat.completion%s","created":1700000000,"model":"%s",` +
		`"system_fingerprint":"fp_bench","choices":[{"index":0,%s,"logprobs":null,"finish_reason":%s}]%s}`
	usage = `,"usage":{"prompt_tokens":200,"completion_tokens":200,"total_tokens":400}`
	// nativeCall is a call whole, or the beginning of one.
	nativeCall = `"content":null,"tool_calls":[{%s"id":"call_bench","type":"function",` +
		`"function":{"name":"write_file","arguments":%s}}]`
)

// completion is the whole answer of a model that writes a text.
func completion(model, text string) string {
	said, finish := `"content":`+quoted(text), `"stop"`
	if model == modelNative {
		said, finish = fmt.Sprintf(nativeCall, "", quoted(text)), `"tool_calls"`
	}
	return fmt.Sprintf(envelope, "", model, `"message":{"role":"assistant",`+said+`}`, finish, usage)
}

// events are the answer of a model as it streams it, without the end marker.
func events(model string) []string {
	text, count := modelAnswer(model), chunksOf(model)
	var list []string
	add := func(delta, finish string) {
		list = append(list, fmt.Sprintf(envelope, ".chunk", model, `"delta":{`+delta+`}`, finish, ""))
	}
	role, piece, finish := `"role":"assistant",`, `"content":%s`, `"stop"`
	if model == modelNative {
		piece, finish = `"tool_calls":[{"index":0,"function":{"arguments":%s}}]`, `"tool_calls"`
		add(role+fmt.Sprintf(nativeCall, `"index":0,`, `""`), "null")
		role = ""
	}
	for i := count - len(list); i > 0; i-- {
		n := len(text) / i
		add(role+fmt.Sprintf(piece, quoted(text[:n])), "null")
		role, text = "", text[n:]
	}
	add("", finish)
	return list
}

func wholeAnswer(model, text string) []byte {
	body := completion(model, text)
	return []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Request-Id: req_bench\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

func newAnswer(model string) *answer {
	a := &answer{
		whole: wholeAnswer(model, modelAnswer(model)),
		head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n" +
			"X-Request-Id: req_bench\r\nTransfer-Encoding: chunked\r\n\r\n"),
	}
	for _, data := range events(model) {
		a.frames = append(a.frames, frame(data))
	}
	a.frames = append(a.frames, append(frame("[DONE]"), "0\r\n\r\n"...))
	a.pause = map[string]time.Duration{modelSlow: slowPause, modelPlain: plainPause, modelPlainLong: plainPause}[model]
	return a
}

// frame is an event of a stream as an HTTP chunk.
func frame(data string) []byte {
	event := "data: " + data + "\n\n"
	return fmt.Appendf(nil, "%x\r\n%s\r\n", len(event), event)
}

// quoted is a string in JSON, with its < and > as they are, as most upstreams write them.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

// request is the body of a request of about size bytes, which offers tools, so
// that the gateway has to look for calls in the answer.
func request(model string, stream bool, size int) []byte {
	const system = "You are a careful assistant. Answer in one short paragraph. "
	const tool = `{"type":"function","function":{"name":"write_file","description":"Write a file.","parameters":` +
		`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}}}`
	make := func(prompt string) []byte {
		return fmt.Appendf(nil, `{"model":"%s","stream":%t,"messages":[{"role":"system","content":"%s"},`+
			`{"role":"user","content":"Please write the file."}],"tools":[%s],"temperature":0.7,"max_tokens":256}`,
			model, stream, prompt, tool)
	}
	n := max(0, size-len(make("")))
	return make(strings.Repeat(system, n/len(system)+1)[:n])
}

// reply is the part of an answer, whole or streamed, that is checked.
type reply struct {
	Choices []struct {
		Message, Delta struct {
			Content   string `json:"content"`
			ToolCalls []struct {
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
}

// received is what an answer says, joined.
type received struct{ content, name, arguments, finish string }

func (r *received) add(data []byte) error {
	var part reply
	if err := json.Unmarshal(data, &part); err != nil {
		return err
	}
	for _, c := range part.Choices {
		r.content += c.Message.Content + c.Delta.Content
		r.finish += c.FinishReason
		for _, call := range append(c.Message.ToolCalls, c.Delta.ToolCalls...) {
			r.name += call.Function.Name
			r.arguments += call.Function.Arguments
		}
	}
	return nil
}

// read reads the body of an answer.
func read(body []byte, stream bool) (r received, err error) {
	if !stream {
		return r, r.add(body)
	}
	done := false
	for event := range bytes.SplitSeq(body, []byte("\n\n")) {
		data, ok := bytes.CutPrefix(event, []byte("data: "))
		switch {
		case !ok || done: // a comment, or nothing
		case string(data) == "[DONE]":
			done = true
		default:
			if err := r.add(data); err != nil {
				return r, err
			}
		}
	}
	if !done {
		return r, fmt.Errorf("the stream has no [DONE]")
	}
	return r, nil
}

// expect is what an answer must say. repaired is that of a gateway that reads
// tool calls.
func expect(model string, repaired bool) received {
	text := modelAnswer(model)
	if model == modelNative {
		return received{name: "write_file", arguments: text, finish: "tool_calls"}
	}
	if !repaired || !strings.HasPrefix(text, trigger) {
		return received{content: text, finish: "stop"}
	}
	var call struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(text, trigger), "</tool_call>")
	_ = json.Unmarshal([]byte(inner), &call) // our own text, as a test shows
	return received{name: call.Name, arguments: string(call.Arguments), finish: "tool_calls"}
}
