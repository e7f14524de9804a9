package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// Features that a target may claim. Chat and Stream are the two ways to answer: a
// case that lists both runs in both, as far as the target claims them. All other
// features of a case must be claimed, or it is skipped.
const (
	Chat      = "chat"      // whole answers
	Stream    = "stream"    // streamed answers
	Tools     = "tools"     // tool calls are read from the model's text
	Reasoning = "reasoning" // reasoning is split from the model's text
	Fidelity  = "fidelity"  // what the gateway need not change it does not change
	Errors    = "errors"    // errors have OpenAI's form and the statuses of this suite
)

// Pieces is a feature that no case lists: the target's streams are cut just as the
// suite shows them. Those of other targets are joined before they are compared.
const Pieces = "pieces"

// Features are all features there are.
func Features() []string { return []string{Chat, Stream, Tools, Reasoning, Fidelity, Errors} }

// Case is one file of the suite.
type Case struct {
	Name     string   // its path, without ending: tools/hermes_one_call
	About    string   // what it shows, in a sentence
	Features []string // what a target must claim
	Parser   string   // what reads the model's text: hermes, auto, none …
	Open     bool     // the prompt has begun the model's reasoning, and the gateway is told so
	Rule     string   // what is broken where the case fails

	// Request is the client's request as JSON. The suite adds the model where there
	// is none. RawRequest is there instead if the bytes are no JSON; $MODEL in it
	// stands for the model's name.
	Request    json.RawMessage
	RawRequest []byte

	// Model is the text that the model writes, cut as its upstream cuts it, and
	// FinishReason is how it ends. Cases about the wire have the upstream's own
	// bytes instead: HTTP is a whole answer with its header, SSE a stream's events.
	// Without any of them the upstream must not be asked.
	Model        []string
	FinishReason string
	HTTP, SSE    []string

	Want  Want
	Asked []string // empty files of want, which ask to be filled; see Result.Got
}

// Want is what a case must give. What is not set is not compared.
type Want struct {
	Status      int               // of the answer; default 200
	Header      map[string]string // of the answer, beside others
	Error       json.RawMessage   // members that the error's body must have
	Answers     []Answer          // one for each choice
	Body        json.RawMessage   // the whole answer, but for id, created and model
	Frames      []string          // a stream's data, each but for id, created and model
	Stream      []string          // a stream's deltas, as want/stream.jsonl has them
	Deltas      int               // how many pieces arguments come in at least, if the text comes rune by rune
	Events      []string          // what the text is, as FormatEvents writes it, for parsers that are tested alone
	StreamError json.RawMessage   // members of the error that ends a stream; see MayFail
	Upstream    json.RawMessage   // the request that the upstream receives, but for its model
}

// MayFail says that a streamed answer may end with StreamError in place of its
// end, because something was sent that cannot be taken back. If there is a
// StreamError and no answer, the stream must end so.
func (w *Want) MayFail() bool { return w.StreamError != nil && w.Answers != nil }

// Answer is what one choice of an answer means, however it is written.
type Answer struct {
	Content      string `json:"content"`
	Reasoning    string `json:"reasoning"`
	ToolCalls    []Call `json:"tool_calls"`
	FinishReason string `json:"finish_reason"`
}

// Call is a tool call of an answer.
type Call struct {
	ID        string          `json:"id"` // compared only if the case has one
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // compared as a JSON value
}

// Reader is what reads the model's text: the parser's name, and "-open" behind it
// where the prompt has begun the reasoning.
func (c *Case) Reader() string {
	if c.Open {
		return c.Parser + "-open"
	}
	return c.Parser
}

// Has reports whether the case lists a feature.
func (c *Case) Has(feature string) bool { return slices.Contains(c.Features, feature) }

// ParseCase reads a case from the text of its file. It refuses what it does not
// know, so that no misspelt expectation is taken for a fulfilled one.
func ParseCase(name string, text []byte) (Case, error) {
	a := txtar.Parse(text)
	c := Case{Name: name, FinishReason: "stop"}
	if err := c.readHead(string(a.Comment)); err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	seen := map[string]bool{}
	for _, f := range a.Files {
		if seen[f.Name] {
			return c, fmt.Errorf("%s: %s is there twice", name, f.Name)
		}
		seen[f.Name] = true
		read, known := files[f.Name]
		if !known {
			return c, fmt.Errorf("%s: there is no file called %s in a case", name, f.Name)
		}
		if strings.HasPrefix(f.Name, "want/") && len(bytes.TrimSpace(f.Data)) == 0 {
			c.Asked = append(c.Asked, f.Name)
			continue
		}
		if err := read(&c, f.Data); err != nil {
			return c, fmt.Errorf("%s: %s: %w", name, f.Name, err)
		}
	}
	if err := c.check(); err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// readHead reads the sentence and the fields below it.
func (c *Case) readHead(head string) error {
	fields := map[string]*string{"parser": &c.Parser, "rule": &c.Rule, "finish": &c.FinishReason,
		"features": new(string), "reasoning": new(string), "deltas": new(string)}
	for i, line := range strings.Split(strings.TrimSpace(head), "\n") {
		if i == 0 {
			c.About = line
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if !ok || fields[key] == nil {
			return fmt.Errorf("line %d of the head is no field: %q", i+1, line)
		}
		*fields[key] = strings.TrimSpace(value)
	}
	c.Features = strings.Fields(*fields["features"])
	if r := *fields["reasoning"]; r != "" && r != "open" {
		return fmt.Errorf("reasoning can be open, or be left out; it is %q", r)
	}
	c.Open = *fields["reasoning"] == "open"
	if n := *fields["deltas"]; n != "" {
		var err error
		if c.Want.Deltas, err = strconv.Atoi(n); err != nil || c.Want.Deltas < 1 {
			return fmt.Errorf("deltas is a number from 1 on, not %q", n)
		}
	}
	return nil
}

// files are the files that a case may have.
var files = map[string]func(c *Case, data []byte) error{ //nolint:gochecknoglobals // a table
	"request.json":           func(c *Case, b []byte) error { return setJSON(&c.Request, b) },
	"request.raw":            func(c *Case, b []byte) error { return setBytes(&c.RawRequest, b) },
	"model.jsonl":            func(c *Case, b []byte) error { return setStrings(&c.Model, b) },
	"upstream.http":          func(c *Case, b []byte) error { return setStrings(&c.HTTP, b) },
	"upstream.sse":           func(c *Case, b []byte) error { return setStrings(&c.SSE, b) },
	"want/status":            func(c *Case, b []byte) error { return c.Want.setStatus(b) },
	"want/header.json":       func(c *Case, b []byte) error { return json.Unmarshal(b, &c.Want.Header) },
	"want/error.json":        func(c *Case, b []byte) error { return setJSON(&c.Want.Error, b) },
	"want/response.json":     func(c *Case, b []byte) error { return c.Want.setAnswers(b) },
	"want/body.json":         func(c *Case, b []byte) error { return setJSON(&c.Want.Body, b) },
	"want/frames.jsonl":      func(c *Case, b []byte) error { return c.Want.setFrames(b) },
	"want/stream.jsonl":      func(c *Case, b []byte) error { return c.Want.setStream(b) },
	"want/events.txt":        func(c *Case, b []byte) error { return c.Want.setEvents(b) },
	"want/stream_error.json": func(c *Case, b []byte) error { return setJSON(&c.Want.StreamError, b) },
	"want/upstream.json":     func(c *Case, b []byte) error { return setJSON(&c.Want.Upstream, b) },
}

func (w *Want) setStatus(b []byte) (err error) {
	w.Status, err = strconv.Atoi(strings.TrimSpace(string(b)))
	return err
}

// setAnswers reads one answer, or an array of them, one for each choice.
func (w *Want) setAnswers(b []byte) error {
	if trimmed := bytes.TrimSpace(b); len(trimmed) > 0 && trimmed[0] != '[' {
		b = slices.Concat([]byte("["), b, []byte("]"))
	}
	return strict(b, &w.Answers)
}

// setFrames reads a stream's data, each a JSON value on a line; "[DONE]" is one.
func (w *Want) setFrames(b []byte) error {
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if !json.Valid([]byte(line)) {
			return fmt.Errorf("not JSON: %.80s", line)
		}
		w.Frames = append(w.Frames, line)
	}
	return nil
}

func setJSON(dst *json.RawMessage, b []byte) error {
	var raw json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	*dst = raw
	return nil
}

// setStrings reads one JSON string a line.
func setStrings(dst *[]string, b []byte) error {
	*dst = []string{}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		var s string
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			return fmt.Errorf("each line must be a JSON string: %w in %.80s", err, line)
		}
		*dst = append(*dst, s)
	}
	return nil
}

func setBytes(dst *[]byte, b []byte) error {
	var parts []string
	err := setStrings(&parts, b)
	*dst = []byte(strings.Join(parts, ""))
	return err
}

// strict decodes JSON and refuses members that dst does not have.
func strict(b []byte, dst any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(dst)
}
