package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// answer is what a client has when a stream has ended.
type answer struct {
	text   string
	calls  []demoCall
	finish openai.FinishReason
	done   bool   // the end marker came
	err    string // the error that came instead of an answer, or in it
	report string // what the gateway says that it did
	rounds string // what it says of the rounds of calls before
}

// demoCall is a call as a client puts it together: by the index of its pieces.
type demoCall struct{ id, name, args string }

const demoTools = `[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}},
{"type":"function","function":{"name":"get_time","parameters":{"type":"object","properties":{}}}}]`

// chatBody is the body of an app's request.
type chatBody struct {
	Model         string                         `json:"model"`
	Stream        bool                           `json:"stream"`
	StreamOptions *openai.StreamOptions          `json:"stream_options,omitempty"`
	Messages      []openai.ChatCompletionMessage `json:"messages"`
	Tools         json.RawMessage                `json:"tools,omitempty"`
	ToolChoice    string                         `json:"tool_choice,omitempty"`
	// ResponseFormat is as the API has it.
	ResponseFormat json.RawMessage `json:"response_format,omitempty"`
}

// ask sends a request. What an upstream does wrong is part of the answer.
func (s *stage) ask(base string, body *chatBody) (_ *answer, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %s: %w", base, body.Model, err)
		}
	}()
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(s.e.ctx, http.MethodPost, base+"/chat/completions", bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	req.Header.Set("content-type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	var broken *url.Error
	switch {
	case errors.As(err, &broken) && s.e.ctx.Err() == nil:
		return &answer{err: "connection: " + broken.Err.Error()}, nil
	case err != nil:
		return nil, err
	}
	defer resp.Body.Close()
	a := &answer{report: reportIn(resp.Header), rounds: resp.Header.Get("x-callgate-tool-rounds")}
	if body.Stream && resp.StatusCode == http.StatusOK {
		a.read(resp.Body)
		return a, nil
	}
	text, err := io.ReadAll(resp.Body)
	switch {
	case resp.StatusCode != http.StatusOK && err == nil:
		a.fail(text, resp)
	case err == nil:
		a.take(text)
	default:
		a.err = "connection: " + err.Error()
	}
	return a, nil
}

// reportIn is what the gateway says in the headers, in the words of a stream's comment.
func reportIn(h http.Header) string {
	var parts []string
	for _, name := range []string{"attempts", "fallbacks", "retry-delay-ms", "parser", "faults", "repairs", "warnings", "guard", "corrections"} {
		value := h.Get("x-callgate-" + name)
		if once := name == "attempts" && value == "1"; value != "" && !once {
			parts = append(parts, strings.ReplaceAll(name, "-", "_")+"="+value)
		}
	}
	return strings.Join(parts, " ")
}

// take reads a whole answer.
func (a *answer) take(text []byte) {
	var body struct {
		openai.ChatCompletionResponse
		Error *openai.APIError `json:"error"`
	}
	a.done = true
	if err := json.Unmarshal(text, &body); err != nil {
		a.err = "an answer that the client cannot read: " + shorten(err.Error(), narrow)
		return
	}
	if body.Error != nil {
		a.err = fmt.Sprintf("error in the answer: %v: %s", body.Error.Code, body.Error.Message)
	}
	for _, c := range body.Choices {
		a.text += c.Message.Content
		a.finish = c.FinishReason
		for _, t := range c.Message.ToolCalls {
			a.calls = append(a.calls, demoCall{t.ID, t.Function.Name, t.Function.Arguments})
		}
	}
}

// fail reads an error that came with a status.
func (a *answer) fail(text []byte, resp *http.Response) {
	var body openai.ErrorResponse
	_ = json.Unmarshal(text, &body) // an answer without one is said by its status
	a.err = strconv.Itoa(resp.StatusCode)
	if body.Error != nil {
		if code := fmt.Sprint(body.Error.Code); code != a.err { // some upstreams repeat the status
			a.err += " " + code
		}
		a.err += ": " + body.Error.Message
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
			a.report = strings.TrimSpace(noCalls.ReplaceAllString(report, ""))
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

// noCalls is what the gateway says of an answer without calls, which the reader sees.
var noCalls = regexp.MustCompile(`\bcalls=0\b`)

func (a *answer) add(data string) {
	var chunk struct {
		openai.ChatCompletionStreamResponse
		Error *openai.APIError `json:"error"`
	}
	if err := json.Unmarshal([]byte(data), &chunk); err != nil {
		a.err = "a chunk that the client cannot read: " + shorten(err.Error(), narrow)
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
			part += " [not JSON]"
		}
		if c.id == "" {
			part += " [no id]"
		}
		parts = append(parts, part)
	}
	return dash(strings.Join(parts, " "))
}

// String is all that the client got, in one line.
func (a *answer) String() string { return a.line(narrow) }

// line is the same, with as much of the text as is wanted.
func (a *answer) line(limit int) string {
	var parts []string
	switch {
	case len(a.calls) > 0:
		parts = append(parts, a.list())
	case a.text != "":
		parts = append(parts, shorten(a.text, limit))
	}
	if a.finish != "" {
		parts = append(parts, "finish_reason="+string(a.finish))
	}
	if a.err != "" {
		parts = append(parts, a.err)
	} else if !a.done {
		parts = append(parts, "and the stream just ends")
	}
	report := a.report
	if strings.Contains(a.rounds, "stop=") { // there were too many
		report = strings.TrimSpace(report + " tool_rounds=" + a.rounds)
	}
	if report != "" {
		parts = append(parts, "["+report+"]")
	}
	return strings.Join(parts, "  ")
}

// narrow is how many characters of a text a line has room for that shows several.
const narrow = 40

func shorten(s string, limit int) string {
	quoted := fmt.Sprintf("%q", s)
	if r := []rune(quoted); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return quoted
}
