package tracelog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/prefix/simulate"
)

// request is what a line says of a request.
type request struct {
	start       time.Time
	route       string
	bytes       int64 // of the prompt
	input       *int64
	output      *int64
	answerBytes int64
	stream      bool
	failed      bool
	blocks      []uint32
}

// mark is in every line that is about a request with its blocks.
var mark = []byte(`"prefix_blocks"`)

// parse reads a line; ok is false for one that is about something else. field is where a
// line is wrong.
func parse(line []byte) (r *request, ok bool, field string, err error) {
	if !bytes.Contains(line, mark) {
		return nil, false, "", nil // most lines, at the cost of a search
	}
	var raw struct {
		Msg    string   `json:"msg"`
		Time   string   `json:"time"`
		Took   *float64 `json:"took_ms"`
		Status int      `json:"status"`
		Code   string   `json:"code"`
		Route  string   `json:"prompt_route"`
		Stream bool     `json:"stream"`
		Bytes  *int64   `json:"bytes"`
		Prompt *int64   `json:"prompt_bytes"`
		Input  *int64   `json:"input_tokens"`
		Output *int64   `json:"output_tokens"`
		Blocks *string  `json:"prefix_blocks"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		field, err := simulate.Fault(err)
		return nil, true, field, err
	}
	if raw.Msg != "request" || raw.Blocks == nil {
		return nil, false, "", nil
	}
	ended, err := time.Parse(time.RFC3339Nano, raw.Time)
	if err != nil {
		return nil, true, "time", fmt.Errorf("is %.40q, want a time such as 2026-11-21T13:44:22.5Z", raw.Time)
	}
	for _, f := range []struct {
		name     string
		fault    error
		required bool
	}{
		{"took_ms", within(raw.Took, maxTook), true}, {"bytes", within(raw.Bytes, maxCount), true}, {"prompt_bytes", within(raw.Prompt, maxCount), true},
		{"input_tokens", within(raw.Input, maxCount), false}, {"output_tokens", within(raw.Output, maxCount), false},
	} {
		if f.fault != nil && (f.required || !errors.Is(f.fault, errMissing)) {
			return nil, true, f.name, f.fault
		}
	}
	blocks, err := prefix.ParseText(*raw.Blocks)
	if err != nil {
		return nil, true, "prefix_blocks", err
	}
	return &request{
		start: ended.Add(-time.Duration(*raw.Took * float64(time.Millisecond))), route: raw.Route, bytes: *raw.Prompt, input: raw.Input, output: raw.Output,
		answerBytes: *raw.Bytes, stream: raw.Stream, failed: raw.Status != http.StatusOK || raw.Code != "", blocks: blocks,
	}, true, "", nil
}

var errMissing = errors.New("is missing")

// within says what is wrong with a number of a line.
func within[T int64 | float64](value *T, most T) error {
	switch {
	case value == nil:
		return errMissing
	case *value < 0 || *value > most:
		return fmt.Errorf("is not between 0 and %v: %v", most, *value)
	}
	return nil
}

// Bounds of a line's numbers, so that sums of them stay within 64 bits.
const (
	maxCount = 1 << 30
	maxTook  = 7 * 24 * 3600 * 1000 // milliseconds
)
