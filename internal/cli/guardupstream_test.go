package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// targetHeader is sent with all requests to a case's second target.
const targetHeader = "x-case-target"

// guardUpstream plays the answers of a case.
type guardUpstream struct {
	files map[string]string
	url   string

	mu     sync.Mutex
	got    []sentRequest
	last   string // what it has written last
	status int    // of that
}

type sentRequest struct{ target, body string }

// guardAnswer is an answer of the upstream: a message, with what stands beside it, or any
// body with a status. A message of an odd form stands in "message" as it is; a stream has
// it in one chunk.
type guardAnswer struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`

	guardMessage
	Choices []guardMessage  `json:"choices"` // behind the first one
	Usage   json.RawMessage `json:"usage"`

	Whole  bool            `json:"whole"`   // also where a stream is asked for
	NoDone bool            `json:"no_done"` // the stream has no end mark
	Wait   int             `json:"wait_ms"` // before the end mark, or the whole answer
	Error  json.RawMessage `json:"error"`   // it ends with this one in place of the finish reason
}

type guardMessage struct {
	Content      *string         `json:"content"`
	Reasoning    string          `json:"reasoning_content"`
	ToolCalls    json.RawMessage `json:"tool_calls"`
	FinishReason string          `json:"finish_reason"`
	Message      json.RawMessage `json:"message"` // in place of all but the finish reason
}

func (u *guardUpstream) answer(w http.ResponseWriter, r received) {
	target := "first"
	if r.Header.Get(targetHeader) != "" {
		target = "second"
	}
	u.mu.Lock()
	u.got = append(u.got, sentRequest{target, r.body})
	n := len(u.got)
	u.mu.Unlock()
	for u.files[fmt.Sprintf("upstream/%d.json", n)] == "" && n > 1 {
		n--
	}
	var a guardAnswer
	if err := json.Unmarshal([]byte(u.files[fmt.Sprintf("upstream/%d.json", n)]), &a); err != nil {
		http.Error(w, "the case is wrong: "+err.Error(), http.StatusTeapot)
		return
	}
	var out bytes.Buffer
	kind, status := "application/json", http.StatusOK
	switch {
	case a.Status != 0:
		status = a.Status
		out.Write(a.Body)
	case r.wantsStream() && !a.Whole:
		kind = events
		a.stream(&out)
	default:
		a.whole(&out)
	}
	u.mu.Lock()
	u.last, u.status = out.String(), status
	u.mu.Unlock()
	w.Header().Set("content-type", kind)
	w.WriteHeader(status)
	blocks := strings.SplitAfter(out.String(), "\n\n")
	last := max(len(blocks)-2, 0)
	send(w, blocks[:last]...)
	select {
	case <-time.After(time.Duration(a.Wait) * time.Millisecond):
	case <-r.Context().Done():
	}
	send(w, blocks[last:]...)
}

// messages are those of all choices.
func (a *guardAnswer) messages() []guardMessage {
	return append([]guardMessage{a.guardMessage}, a.Choices...)
}

// whole writes a completion. The member x_kept is one that nobody knows.
func (a *guardAnswer) whole(w io.Writer) {
	if a.Error != nil {
		fmt.Fprintf(w, "{\"error\":%s}", a.Error)
		return
	}
	io.WriteString(w, `{"id":"c1","object":"chat.completion","created":1,"model":"up","x_kept":1.0,"choices":[`)
	for i, m := range a.messages() {
		if i > 0 {
			io.WriteString(w, ",")
		}
		fmt.Fprintf(w, `{"index":%d,"message":%s,"finish_reason":%q}`, i, m.whole(), m.FinishReason)
	}
	usage := "null"
	if a.Usage != nil {
		usage = string(a.Usage)
	}
	fmt.Fprintf(w, `],"usage":%s}`, usage)
}

func (m *guardMessage) whole() string {
	if m.Message != nil {
		return string(m.Message)
	}
	content, _ := json.Marshal(m.Content)
	out := `{"role":"assistant","content":` + string(content)
	if m.Reasoning != "" {
		out += fmt.Sprintf(`,"reasoning_content":%q`, m.Reasoning)
	}
	if m.ToolCalls != nil {
		out += `,"tool_calls":` + string(m.ToolCalls)
	}
	return out + "}"
}

const guardChunk = `"id":"c1","object":"chat.completion.chunk","created":1,"model":"up","x_kept":1.0`

// stream writes the chunks of a completion, with texts and arguments in pieces.
func (a *guardAnswer) stream(w io.Writer) {
	for i, m := range a.messages() {
		m.stream(func(delta, finish string) {
			if a.Error != nil && finish != "null" {
				fmt.Fprintf(w, "data: {\"error\":%s}\n\n", a.Error)
				return
			}
			fmt.Fprintf(w, "data: {%s,\"choices\":[{\"index\":%d,\"delta\":%s,\"finish_reason\":%s}]}\n\n", guardChunk, i, delta, finish)
		})
	}
	if a.Usage != nil {
		fmt.Fprintf(w, "data: {%s,\"choices\":[],\"usage\":%s}\n\n", guardChunk, a.Usage)
	}
	if !a.NoDone && a.Error == nil {
		io.WriteString(w, "data: [DONE]\n\n")
	}
}

func (m *guardMessage) stream(chunk func(delta, finish string)) {
	if m.Message != nil {
		chunk(string(m.Message), "null")
		chunk("{}", fmt.Sprintf("%q", m.FinishReason))
		return
	}
	text := func(key, s string) {
		for _, piece := range runePieces(s, 5) {
			quoted, _ := json.Marshal(piece)
			chunk(fmt.Sprintf(`{%q:%s}`, key, quoted), "null")
		}
	}
	chunk(`{"role":"assistant","content":""}`, "null")
	text("reasoning_content", m.Reasoning)
	if m.Content != nil {
		text("content", *m.Content)
	}
	var calls []struct {
		ID       string
		Function struct{ Name, Arguments string }
	}
	if m.ToolCalls != nil && json.Unmarshal(m.ToolCalls, &calls) == nil {
		for i, call := range calls {
			chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":""}}]}`,
				i, call.ID, call.Function.Name), "null")
			for _, piece := range runePieces(call.Function.Arguments, 7) {
				quoted, _ := json.Marshal(piece)
				chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quoted), "null")
			}
		}
	}
	chunk("{}", fmt.Sprintf("%q", m.FinishReason))
}

// runePieces cuts a text into pieces of n characters.
func runePieces(s string, n int) (out []string) {
	for s != "" {
		size := 0
		for range n {
			_, width := utf8.DecodeRuneInString(s[size:])
			size += width
		}
		out, s = append(out, s[:size]), s[size:]
	}
	return out
}
