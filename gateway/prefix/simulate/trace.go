package simulate

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// Request is a line of a trace.
type Request struct {
	Timestamp int64   `json:"timestamp"`     // ms since the trace's start
	Input     int     `json:"input_length"`  // tokens
	Output    int     `json:"output_length"` // tokens
	Blocks    []int64 `json:"hash_ids"`      // ids of the input's blocks
}

// Trace is a list of requests in the order of time.
type Trace []Request

// TraceError says what is wrong with a line of a trace.
type TraceError struct {
	File  string // "" for the only one
	Line  int    // from 1
	Field string // "" where the whole line is at fault
	Err   error
}

// Error implements error.
func (e *TraceError) Error() string {
	text := fmt.Sprintf("line %d: ", e.Line)
	if e.File != "" {
		text = e.File + ": " + text
	}
	if e.Field != "" {
		text += e.Field + ": "
	}
	return text + e.Err.Error()
}

// Unwrap returns the cause.
func (e *TraceError) Unwrap() error { return e.Err }

// maxLine bounds a line of a trace. The longest of the public ones has 2 KB.
const maxLine = 16 << 20

// ReadTrace reads a trace in the form of Mooncake's: JSON lines, plain or as gzip. Fields
// that it does not know are let be, empty lines are left out. Memory is linear in what is
// read. Its errors about lines are of type *TraceError.
func ReadTrace(r io.Reader) (Trace, error) {
	in, err := Unzip(r)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	var trace Trace
	n := 1
	for ; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		request, field, err := parse(line)
		if err == nil && len(trace) > 0 && request.Timestamp < trace[len(trace)-1].Timestamp {
			field, err = "timestamp", fmt.Errorf("goes back from %d to %d", trace[len(trace)-1].Timestamp, request.Timestamp)
		}
		if err != nil {
			return nil, &TraceError{Line: n, Field: field, Err: err}
		}
		trace = append(trace, request)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, &TraceError{Line: n, Err: fmt.Errorf("is longer than %d bytes", maxLine)}
	} else if err != nil {
		return nil, fmt.Errorf("line %d: %w", n, err)
	}
	return trace, nil
}

// Unzip returns r, or what is in it if it is gzip.
func Unzip(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	if magic, err := in.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return in, nil //nolint:nilerr // who reads on meets it again
	}
	return gzip.NewReader(in)
}

// WriteTrace writes a trace in the form that ReadTrace reads.
func WriteTrace(w io.Writer, t Trace) error {
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	for _, r := range t {
		if r.Blocks == nil {
			r.Blocks = []int64{}
		}
		if err := lines.Encode(r); err != nil {
			return err
		}
	}
	return out.Flush()
}

// Fault says what is wrong with a line of JSON by the error of json.Unmarshal, in words for
// people who write JSON. field is where it is, "" for the whole line.
func Fault(err error) (field string, _ error) {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return wrong.Field, fmt.Errorf("is a JSON %s, want %s", wrong.Value, kindName(wrong.Type))
	}
	return "", err
}

// parse reads a line. field is where it is wrong.
func parse(line []byte) (r Request, field string, err error) {
	var raw struct {
		Timestamp *int64  `json:"timestamp"`
		Input     *int64  `json:"input_length"`
		Output    *int64  `json:"output_length"`
		Blocks    []int64 `json:"hash_ids"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		field, err := Fault(err)
		return r, field, err
	}
	for _, f := range []struct {
		name  string
		value *int64
		most  int64
	}{
		{"timestamp", raw.Timestamp, maxTime},
		{"input_length", raw.Input, maxTokens},
		{"output_length", raw.Output, maxTokens},
	} {
		switch {
		case f.value == nil:
			return r, f.name, errors.New("is missing")
		case *f.value < 0:
			return r, f.name, fmt.Errorf("is negative: %d", *f.value)
		case *f.value > f.most:
			return r, f.name, fmt.Errorf("is above %d: %d", f.most, *f.value)
		}
	}
	if raw.Blocks == nil {
		return r, "hash_ids", errors.New("is missing")
	}
	for _, id := range raw.Blocks {
		if id < 0 {
			return r, "hash_ids", fmt.Errorf("has a negative id: %d", id)
		}
	}
	return Request{*raw.Timestamp, int(*raw.Input), int(*raw.Output), raw.Blocks}, "", nil
}

// kindName is the name of a Go type for people who write JSON.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct:
		return "an object"
	case reflect.Slice:
		return "an array"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	default:
		return "a whole number"
	}
}

// Bounds of a trace's numbers, so that sums of them stay within 64 bits.
const (
	maxTime   = 10 * 365 * 24 * 3600 * 1000 // ms, ten years
	maxTokens = 1 << 30
)
