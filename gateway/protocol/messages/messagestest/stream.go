package messagestest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// event is the data of one event; members that are not there are nil.
type event struct {
	Type    string           `json:"type"`
	Index   *int             `json:"index"`
	Message json.RawMessage  `json:"message"`
	Block   *json.RawMessage `json:"content_block"`
	Delta   *delta           `json:"delta"`
	Usage   *Usage           `json:"usage"`
	Error   *StreamError     `json:"error"`
}

type delta struct {
	Type         string          `json:"type"`
	Text         *string         `json:"text"`
	Thinking     *string         `json:"thinking"`
	Signature    *string         `json:"signature"`
	JSON         *string         `json:"partial_json"`
	Citation     json.RawMessage `json:"citation"`
	StopReason   *string         `json:"stop_reason"`
	StopSequence json.RawMessage `json:"stop_sequence"`
}

// StreamError is an error that the API reports.
type StreamError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Error implements error.
func (f *StreamError) Error() string { return f.Type + ": " + f.Message }

// state is where a stream is.
type state int

const (
	fresh state = iota
	between
	inBlock
	ended // message_delta has come
	stopped
)

type reader struct {
	state  state
	m      Message
	block  Block
	pieces []string // of the input
	signed bool
	next   int // index
}

// Stream judges a stream from its first to its last byte, and puts it together. A stream that
// ends with an error gives a [*StreamError], if all before it is in order.
func Stream(stream []byte) (*Message, error) {
	r := &reader{}
	rest := stream
	for len(rest) > 0 {
		var block []byte
		var ok bool
		if block, rest, ok = bytes.Cut(rest, []byte("\n\n")); !ok {
			return &r.m, fmt.Errorf("the stream is cut within %q", block)
		}
		name, data, err := fieldsOf(string(block))
		if err != nil {
			return &r.m, err
		}
		if name == "" {
			continue
		}
		if r.state == stopped {
			return &r.m, fmt.Errorf("%s follows the end", name)
		}
		e := event{}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return &r.m, fmt.Errorf("%w in %s", err, data)
		}
		if e.Type != name {
			return &r.m, fmt.Errorf("the event %s has the type %q", name, e.Type)
		}
		if err := r.take(&e); err != nil {
			var failed *StreamError
			switch {
			case errors.As(err, &failed) && len(bytes.TrimSpace(rest)) > 0:
				return &r.m, fmt.Errorf("something follows an error: %q", rest)
			case failed != nil:
				return &r.m, failed
			}
			return &r.m, fmt.Errorf("%w, at %s", err, data)
		}
	}
	if r.state != stopped {
		return &r.m, fmt.Errorf("the stream ends without message_stop")
	}
	return &r.m, r.m.ended()
}

// fieldsOf are the fields of a block; a comment has none.
func fieldsOf(block string) (name, data string, err error) {
	comments := 0
	lines := strings.Split(block, "\n")
	for _, line := range lines {
		switch field, value, _ := strings.Cut(line, ":"); field {
		case "":
			comments++
		case "event":
			name = strings.TrimPrefix(value, " ")
		case "data":
			if data != "" {
				return "", "", fmt.Errorf("an event has two lines of data: %q", block)
			}
			data = strings.TrimPrefix(value, " ")
		default:
			return "", "", fmt.Errorf("there is a field %q in %q", field, block)
		}
	}
	if comments == len(lines) {
		return "", "", nil
	}
	if name == "" || data == "" {
		return "", "", fmt.Errorf("an event lacks its name or its data: %q", block)
	}
	return name, data, nil
}

func (r *reader) take(e *event) error {
	switch e.Type {
	case "ping":
		return nil
	case "error":
		if e.Error == nil || e.Error.Type == "" || e.Error.Message == "" {
			return fmt.Errorf("an error says nothing")
		}
		r.state = stopped
		return e.Error
	case "message_start":
		if r.state != fresh {
			return fmt.Errorf("a second message_start")
		}
		r.state = between
		if err := strict(e.Message, &r.m); err != nil {
			return err
		}
		if len(r.m.Content) > 0 || r.m.StopReason != nil || r.m.StopSequence != nil {
			return fmt.Errorf("message_start says too much")
		}
		return r.m.check()
	case "content_block_start":
		return r.start(e)
	case "content_block_delta":
		if r.state != inBlock || e.Index == nil || *e.Index != r.next || e.Delta == nil {
			return fmt.Errorf("a delta of no open block")
		}
		return r.delta(e.Delta)
	case "content_block_stop":
		if r.state != inBlock || e.Index == nil || *e.Index != r.next {
			return fmt.Errorf("a stop of no open block")
		}
		return r.stop()
	case "message_delta":
		if r.state != between || e.Delta == nil || e.Delta.StopReason == nil || e.Delta.StopSequence == nil {
			return fmt.Errorf("message_delta lacks something, or comes at a wrong time")
		}
		r.state = ended
		r.m.StopReason = e.Delta.StopReason
		_ = json.Unmarshal(e.Delta.StopSequence, &r.m.StopSequence)
		if err := e.Usage.check(false); err != nil {
			return err
		}
		if e.Usage.Input == nil {
			e.Usage.Input = r.m.Usage.Input
		}
		r.m.Usage = e.Usage
		for _, b := range r.m.Content {
			if err := b.check(r.m.cut()); err != nil {
				return err
			}
		}
		return nil
	case "message_stop":
		if r.state != ended {
			return fmt.Errorf("message_stop comes at a wrong time")
		}
		r.state = stopped
		return nil
	}
	return fmt.Errorf("an event of an unknown type")
}

func (r *reader) start(e *event) error {
	if r.state != between || e.Index == nil || *e.Index != r.next || e.Block == nil {
		return fmt.Errorf("a block begins at a wrong time or with a wrong index")
	}
	r.state, r.block, r.pieces, r.signed = inBlock, Block{}, nil, false
	var members map[string]json.RawMessage
	if json.Unmarshal(*e.Block, &r.block) != nil || json.Unmarshal(*e.Block, &members) != nil {
		return fmt.Errorf("a block that cannot be read")
	}
	empty := map[string][]string{"text": {"text"}, "thinking": {"thinking", "signature"}}
	for _, name := range empty[r.block.Type] {
		if string(members[name]) != `""` {
			return fmt.Errorf("%s of a new block is %s", name, members[name])
		}
	}
	if (r.block.Type == "tool_use" || r.block.Type == "mcp_tool_use") && (string(members["input"]) != "{}" || r.block.ID == "" || r.block.Name == "") {
		return fmt.Errorf("a call does not begin with its id, its name and an empty input")
	}
	return nil
}

func (r *reader) delta(d *delta) error {
	b := &r.block
	switch {
	case d.Type == "text_delta" && b.Type == "text" && d.Text != nil:
		b.Text += *d.Text
	case d.Type == "thinking_delta" && b.Type == "thinking" && d.Thinking != nil && !r.signed:
		b.Thinking += *d.Thinking
	case d.Type == "signature_delta" && b.Type == "thinking" && d.Signature != nil && *d.Signature != "" && !r.signed:
		b.Signature, r.signed = *d.Signature, true
	case d.Type == "input_json_delta" && (b.Type == "tool_use" || b.Type == "mcp_tool_use" || b.Type == "server_tool_use") && d.JSON != nil:
		r.pieces = append(r.pieces, *d.JSON)
	case d.Type == "citations_delta" && b.Type == "text" && len(d.Citation) > 0:
		b.Citations = append(b.Citations, d.Citation)
	default:
		return fmt.Errorf("a delta that does not fit a block of the type %s", b.Type)
	}
	return nil
}

func (r *reader) stop() error {
	r.state = between
	r.next++
	if r.block.Type == "tool_use" || r.block.Type == "mcp_tool_use" || len(r.pieces) > 0 { // another tool's input may be whole from the start
		r.block.Input = json.RawMessage(strings.Join(r.pieces, ""))
	}
	r.m.Content = append(r.m.Content, r.block)
	return nil
}
