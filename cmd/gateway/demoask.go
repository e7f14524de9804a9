package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway"
)

// answer is what a client has when a stream has ended.
type answer struct {
	text   string
	calls  []demoCall
	finish openai.FinishReason
	done   bool   // the end marker came
	err    string // the error that came instead of an answer, or in it
	report string // what the gateway says that it did
}

// demoCall is a call as a client puts it together: by the index of its pieces.
type demoCall struct{ id, name, args string }

const demoTools = `[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}},
{"type":"function","function":{"name":"get_time","parameters":{"type":"object","properties":{}}}}]`

// ask sends the demo's request. What an upstream does wrong is part of the answer.
func (s *stage) ask(base, model string) (*answer, error) {
	body, err := json.Marshal(map[string]any{
		"model": model, "stream": true, "tools": json.RawMessage(demoTools),
		"messages": []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: demoPrompt}},
	})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(s.e.ctx, http.MethodPost, base+"/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("content-type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &answer{}
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		a.fail(text, resp)
	} else {
		a.read(resp.Body)
	}
	return a, nil
}

// fail reads an error that came with a status.
func (a *answer) fail(text []byte, resp *http.Response) {
	var body openai.ErrorResponse
	_ = json.Unmarshal(text, &body) // an answer without one is said by its status
	a.err = fmt.Sprintf("%d", resp.StatusCode)
	if body.Error != nil {
		a.err += fmt.Sprintf(" %v: %s", body.Error.Code, body.Error.Message)
	}
	if after := resp.Header.Get("retry-after"); after != "" {
		a.err += " (retry-after: " + after + ")"
	}
}

// read reads a stream to its end, well or badly.
func (a *answer) read(body io.Reader) {
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		line := lines.Text()
		if report, ok := strings.CutPrefix(line, ": callgate mode=repair "); ok {
			a.report = strings.TrimSpace(strings.TrimPrefix(report, "calls=0"))
		}
		data, ok := strings.CutPrefix(line, "data: ")
		switch {
		case !ok:
		case data == "[DONE]":
			a.done = true
		default:
			a.add(data)
		}
	}
	if err := lines.Err(); err != nil && a.err == "" {
		a.err = "connection: " + err.Error()
	}
}

func (a *answer) add(data string) {
	var chunk struct {
		openai.ChatCompletionStreamResponse
		Error *openai.APIError `json:"error"`
	}
	if err := json.Unmarshal([]byte(data), &chunk); err != nil {
		a.err = "a chunk that the client cannot read: " + shorten(err.Error())
		return
	}
	if chunk.Error != nil {
		a.err = fmt.Sprintf("error in the stream: %v: %s", chunk.Error.Code, chunk.Error.Message)
	}
	for _, c := range chunk.Choices {
		a.text += c.Delta.Content
		if c.FinishReason != "" {
			a.finish = c.FinishReason
		}
		for _, t := range c.Delta.ToolCalls {
			a.piece(t)
		}
	}
}

func (a *answer) piece(t openai.ToolCall) {
	if t.Index == nil {
		return
	}
	for len(a.calls) <= *t.Index {
		a.calls = append(a.calls, demoCall{})
	}
	c := &a.calls[*t.Index]
	c.id += t.ID
	c.name += t.Function.Name
	c.args += t.Function.Arguments
}

// list is the calls in one line.
func (a *answer) list() string {
	var parts []string
	for _, c := range a.calls {
		part := fmt.Sprintf("%s(%s)", c.name, c.args)
		if !json.Valid([]byte(c.args)) {
			part += " [no JSON]"
		}
		if c.id == "" {
			part += " [no id]"
		}
		parts = append(parts, part)
	}
	return dash(strings.Join(parts, " "))
}

// String is all that the client got, in one line.
func (a *answer) String() string {
	var parts []string
	switch {
	case len(a.calls) > 0:
		parts = append(parts, a.list())
	case a.text != "":
		parts = append(parts, shorten(a.text))
	}
	if a.finish != "" {
		parts = append(parts, "finish_reason="+string(a.finish))
	}
	if a.err != "" {
		parts = append(parts, a.err)
	} else if !a.done {
		parts = append(parts, "and the stream just ends")
	}
	if a.report != "" {
		parts = append(parts, "["+a.report+"]")
	}
	return strings.Join(parts, "  ")
}

func shorten(s string) string {
	const limit = 40
	quoted := fmt.Sprintf("%q", s)
	if r := []rune(quoted); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return quoted
}

// directUpstream serves a provider as its upstream would: what it says goes out as it
// is, and nobody looks after it.
type directUpstream struct{ provider gateway.Provider }

// ServeHTTP implements http.Handler.
func (d *directUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		return
	}
	req, err := gateway.ParseRequest(body)
	if err == nil {
		err = d.answer(w, r, req)
	}
	if err == nil {
		return
	}
	e := gateway.AsError(err)
	status, message := e.HTTPStatus(), e.Message
	if m := upstreamStatus.FindStringSubmatch(message); m != nil { // as it was before the provider gave it a name
		status, _ = strconv.Atoi(m[1]) // three digits
		message = m[2]
	}
	if e.RetryAfter > 0 {
		w.Header().Set("retry-after", fmt.Sprint(int(e.RetryAfter.Seconds())))
	}
	w.Header().Set("content-type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": e.Type(), "code": e.CodeOrDefault()}})
}

var upstreamStatus = regexp.MustCompile(`status (\d{3})\)?: (.*)`)

// answer writes a reply. One that breaks off breaks off.
func (d *directUpstream) answer(w http.ResponseWriter, r *http.Request, req *gateway.Request) error {
	reply, err := d.provider.Chat(r.Context(), req.Model, req)
	if err != nil {
		return err
	}
	defer reply.Close()
	w.Header().Set("content-type", reply.Header().Get("Content-Type"))
	for {
		f, err := reply.Next()
		if err != nil {
			return nil // the client sees that the stream has ended
		}
		if _, err := w.Write(f.Raw); err != nil {
			return nil // the client has gone
		}
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
	}
}
