package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Want is what a case must give. What is not set is not compared.
type Want struct {
	// Status says of each answer on the connection what it may be: numbers, classes
	// such as 4xx, or Closed. Only a case with a client.http has more than one line.
	// Without any, the one answer has 200.
	Status      [][]string
	Header      map[string]*string // of the answer, beside others; see differHeader
	Error       json.RawMessage    // members that the error's body must have
	Answers     []Answer           // one for each choice
	Body        json.RawMessage    // the whole answer, but for id, created and model
	RawBody     *string            // the whole answer, byte for byte
	Frames      []string           // a stream's data, each but for id, created and model
	RawData     []string           // a stream's data, byte for byte
	Stream      []string           // a stream's deltas, as want/stream.jsonl has them
	Deltas      int                // how many pieces arguments come in at least, if the text comes rune by rune
	Events      []string           // what the text is, as FormatEvents writes it, for parsers that are tested alone
	StreamError json.RawMessage    // members of the error that ends a stream; see MayFail

	Upstream       json.RawMessage    // the request that the upstream receives, but for its model
	RawUpstream    *string            // the same, byte for byte; $MODEL is the model's name at the upstream
	UpstreamHeader map[string]*string // of that request; see differHeader
	Requests       []int              // how many requests the upstream may get
	Left           time.Duration      // in which the upstream's connection is closed behind the client's
}

// Broken is, in place of a status, an answer that breaks off, whatever its status says.
const Broken = "broken"

// Closed is, in place of a status, a connection that ends without an answer.
const Closed = "closed"

// statusPattern is what may stand for a status.
var statusPattern = regexp.MustCompile(`^[1-5](\d\d|xx)$`)

// statusIs reports whether a status is one of those that are wanted.
func statusIs(status int, options []string) bool {
	text := strconv.Itoa(status)
	return slices.Contains(options, text) || slices.Contains(options, text[:1]+"xx")
}

// first is what the first answer may be.
func (w *Want) first() []string {
	if len(w.Status) == 0 {
		return []string{"200"}
	}
	return w.Status[0]
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

// files are the files that a case may have.
var files = map[string]func(c *Case, data []byte) error{ //nolint:gochecknoglobals // a table
	"request.next.json":         func(c *Case, b []byte) error { return setJSON(&c.Next, b) },
	"upstream.json":             func(c *Case, b []byte) error { return c.setSays(b, 0) },
	"upstream.again.json":       func(c *Case, b []byte) error { return c.setSays(b, 1) },
	"request.json":              func(c *Case, b []byte) error { return setJSON(&c.Request, b) },
	"request.raw":               func(c *Case, b []byte) error { return setBytes(&c.RawRequest, b) },
	"request.header.json":       func(c *Case, b []byte) error { return json.Unmarshal(b, &c.Header) },
	"client.http":               func(c *Case, b []byte) error { return setSteps(&c.Client, b) },
	"model.jsonl":               func(c *Case, b []byte) error { return setStrings(&c.Model, b) },
	"upstream.http":             func(c *Case, b []byte) error { return setSteps(&c.HTTP, b) },
	"upstream.sse":              func(c *Case, b []byte) error { return setSteps(&c.SSE, b) },
	"upstream.again.http":       func(c *Case, b []byte) error { return setSteps(&c.Again, b) },
	"want/status":               func(c *Case, b []byte) error { return c.Want.setStatus(b) },
	"want/header.json":          func(c *Case, b []byte) error { return json.Unmarshal(b, &c.Want.Header) },
	"want/error.json":           func(c *Case, b []byte) error { return setJSON(&c.Want.Error, b) },
	"want/response.json":        func(c *Case, b []byte) error { return c.Want.setAnswers(b) },
	"want/body.json":            func(c *Case, b []byte) error { return setJSON(&c.Want.Body, b) },
	"want/frames.jsonl":         func(c *Case, b []byte) error { return c.Want.setFrames(b) },
	"want/stream.jsonl":         func(c *Case, b []byte) error { return c.Want.setStream(b) },
	"want/events.txt":           func(c *Case, b []byte) error { return c.Want.setEvents(b) },
	"want/stream_error.json":    func(c *Case, b []byte) error { return setJSON(&c.Want.StreamError, b) },
	"want/body.raw":             func(c *Case, b []byte) error { return setRaw(&c.Want.RawBody, b) },
	"want/data.raw":             func(c *Case, b []byte) error { return setStrings(&c.Want.RawData, b) },
	"want/upstream.json":        func(c *Case, b []byte) error { return setJSON(&c.Want.Upstream, b) },
	"want/upstream.raw":         func(c *Case, b []byte) error { return setRaw(&c.Want.RawUpstream, b) },
	"want/upstream_header.json": func(c *Case, b []byte) error { return json.Unmarshal(b, &c.Want.UpstreamHeader) },
	"want/requests":             func(c *Case, b []byte) error { return c.Want.setRequests(b) },
	"want/left":                 func(c *Case, b []byte) error { return c.Want.setLeft(b) },
}

// setStatus reads a line for each answer on the connection, with what it may be.
func (w *Want) setStatus(b []byte) error {
	for line := range strings.Lines(string(b)) {
		options := strings.Fields(line)
		for _, p := range options {
			if p != Closed && p != Broken && !statusPattern.MatchString(p) {
				return fmt.Errorf("a status is a number such as 404, 4xx, %s or %s, not %q", Closed, Broken, p)
			}
		}
		if len(options) > 0 {
			w.Status = append(w.Status, options)
		}
	}
	return nil
}

// setRequests reads the numbers of requests that the upstream may get.
func (w *Want) setRequests(b []byte) error {
	for text := range strings.FieldsSeq(string(b)) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return fmt.Errorf("a number of requests is 0 or more, not %q", text)
		}
		w.Requests = append(w.Requests, n)
	}
	return nil
}

// setLeft reads a duration.
func (w *Want) setLeft(b []byte) (err error) {
	if w.Left, err = time.ParseDuration(strings.TrimSpace(string(b))); err == nil && w.Left <= 0 {
		err = errors.New("the time is above 0")
	}
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
	for line := range lines(b) {
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
	for line := range lines(b) {
		var s string
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			return fmt.Errorf("each line must be a JSON string: %w in %.80s", err, line)
		}
		*dst = append(*dst, s)
	}
	return nil
}

// setBytes reads lines as setSteps does, of which none may be more than bytes.
func setBytes(dst *[]byte, b []byte) error {
	var steps []Step
	if err := setSteps(&steps, b); err != nil {
		return err
	}
	*dst = []byte{}
	for _, s := range steps {
		if s.Do != Send {
			return fmt.Errorf("there is nothing to %s in a request's body", s.Do)
		}
		*dst = append(*dst, s.Text...)
	}
	return nil
}

// setRaw is setBytes for what is wanted.
func setRaw(dst **string, b []byte) error {
	var all []byte
	err := setBytes(&all, b)
	text := string(all)
	*dst = &text
	return err
}

// strict decodes JSON and refuses members that dst does not have.
func strict(b []byte, dst any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(dst)
}

// with is w with what o has beside it or otherwise.
func (w Want) with(o *Want) Want {
	from, to := reflect.ValueOf(o).Elem(), reflect.ValueOf(&w).Elem()
	for i := range from.NumField() {
		if f := from.Field(i); !f.IsZero() {
			to.Field(i).Set(f)
		}
	}
	return w
}
