package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// readEvents reads the data of a stream's events that have some. What breaks the framing
// is a fault: clients differ in what they make of it. A byte order mark in front is none.
func readEvents(body string) (events []event, faults []Fault) {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(body, "\ufeff"))
	if text != "" && !strings.HasSuffix(text, "\n\n") {
		faults = append(faults, faultOf("sse_end", fmt.Sprintf("the stream's last event is not ended by an empty line: %.80q", text[max(0, len(text)-80):])))
	}
	for block := range strings.SplitSeq(text, "\n\n") {
		var e event
		var data []string
		for line := range strings.SplitSeq(block, "\n") {
			name, value, _ := strings.Cut(line, ":")
			switch name {
			case "data":
				data = append(data, strings.TrimPrefix(value, " "))
			case "event":
				e.name = strings.TrimPrefix(value, " ")
			case "", "id", "retry": // "" is a comment
			default:
				faults = append(faults, faultOf("sse_fields", fmt.Sprintf("this line is no field of an event: %.80q", line)))
			}
		}
		if data != nil {
			e.data = strings.Join(data, "\n")
			events = append(events, e)
		}
	}
	return events, faults
}

// event is one of a stream's that has data.
type event struct{ name, data string }

// streamed joins a stream's chunks and checks the rules that hold for each of
// them.
type streamed struct {
	reply
	id      string
	done    bool
	choices []*choice
}

// choice is what a stream has said of one choice.
type choice struct {
	index    int
	begun    bool
	role     bool
	finished int
	answer   Answer
	args     []*strings.Builder // of the calls
}

// chunk is a piece of a streamed answer.
type chunk struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Choices []struct {
		Index        int             `json:"index"`
		Delta        message         `json:"delta"`
		FinishReason json.RawMessage `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// readStream reads a stream and checks its form.
func readStream(body []byte) *reply {
	events, faults := readEvents(string(body))
	s := &streamed{reply: reply{faults: faults}}
	for i, event := range events {
		data := event.data
		switch {
		case s.failure != nil:
			s.fault("after_error", "event %d comes after an error: %.80q", i, data)
		case s.done:
			s.fault("done", "event %d comes after [DONE]: %.80q", i, data)
		case data == "[DONE]":
			s.done = true
			s.data = append(s.data, `"[DONE]"`)
		default:
			s.read(i, data)
		}
	}
	s.end()
	return &s.reply
}

func (s *streamed) read(i int, data string) {
	var c chunk
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		s.fault("chunk", "event %d is no chunk: %v in %.200q", i, err, data)
		return
	}
	if c.Error != nil {
		s.failure = json.RawMessage(data)
		return
	}
	s.data = append(s.data, data)
	if c.Object != "chat.completion.chunk" {
		s.fault("chunk", "event %d: object: got %q, want %q", i, c.Object, "chat.completion.chunk")
	}
	if s.id == "" {
		s.id = c.ID
	}
	if c.ID == "" || c.ID != s.id {
		s.fault("chunk_id", "event %d: id: got %q, want the same in all chunks, %q", i, c.ID, s.id)
	}
	if len(c.Usage) > 0 && string(c.Usage) != "null" {
		s.usage, _ = decodeObject(c.Usage) // nil if it is none
	}
	for _, part := range c.Choices {
		ch := s.choice(part.Index)
		s.delta(i, ch, &part.Delta)
		if d, ok := reduce(part.Index, &part.Delta, unquote(part.FinishReason)); ok {
			s.deltas = append(s.deltas, d.String())
		}
		if string(part.FinishReason) != "null" && len(part.FinishReason) > 0 {
			ch.finished++
			ch.answer.FinishReason = unquote(part.FinishReason)
		}
	}
}

func (s *streamed) choice(index int) *choice {
	for _, c := range s.choices {
		if c.index == index {
			return c
		}
	}
	c := &choice{index: index}
	s.choices = append(s.choices, c)
	return c
}

func (s *streamed) delta(i int, c *choice, m *message) {
	says := text(m.Content) + m.thoughts()
	if !c.begun && m.Role != "assistant" {
		s.fault("role_first", "event %d: the first delta of choice %d has the role %q, want %q", i, c.index, m.Role, "assistant")
	}
	c.begun, c.role = true, c.role || m.Role == "assistant"
	if m.Role != "" && m.Role != "assistant" {
		s.fault("role", "event %d: the role changes to %q", i, m.Role)
	}
	if c.finished > 0 && (says != "" || len(m.ToolCalls) > 0) {
		s.fault("finish", "event %d: choice %d goes on after its finish reason", i, c.index)
	}
	c.answer.Content += text(m.Content)
	c.answer.Reasoning += m.thoughts()
	for k := range m.ToolCalls {
		s.call(i, c, &m.ToolCalls[k])
	}
}

// call reads one entry of a delta's tool_calls.
func (s *streamed) call(i int, c *choice, w *wireCall) {
	if w.Index == nil {
		s.fault("call_index", "event %d: a tool call has no index", i)
		return
	}
	at := *w.Index
	switch {
	case at < 0 || at > len(c.args):
		s.fault("call_index", "event %d: tool call %d comes where %d is next: indexes begin at 0 and have no gaps", i, at, len(c.args))
		return
	case at == len(c.args):
		if text(w.ID) == "" || text(w.Function.Name) == "" || text(w.Type) != "function" {
			s.fault("call_begin", "event %d: tool call %d must begin with its id, type and name; got %q, %q, %q",
				i, at, text(w.ID), text(w.Type), text(w.Function.Name))
		}
		c.args = append(c.args, &strings.Builder{})
		c.answer.ToolCalls = append(c.answer.ToolCalls, Call{ID: text(w.ID), Name: text(w.Function.Name)})
	case text(w.ID) != "" || text(w.Function.Name) != "":
		s.fault("call_once", "event %d: tool call %d has its id or name again: clients join them", i, at)
	}
	c.args[at].WriteString(text(w.Function.Arguments))
}

// end checks what can only be known at the end.
func (s *streamed) end() {
	if !s.done && s.failure == nil {
		s.fault("done", "the stream ends without [DONE]")
	}
	slices.SortFunc(s.choices, func(a, b *choice) int { return a.index - b.index })
	for i, c := range s.choices {
		if c.index != i {
			s.fault("choice_index", "there is a choice %d, but none with index %d", c.index, i)
		}
		for k, args := range c.args {
			c.answer.ToolCalls[k].Arguments = json.RawMessage(args.String())
		}
		if s.failure == nil {
			if !c.role {
				s.fault("role", "no delta of choice %d has the role %q", c.index, "assistant")
			}
			if c.finished != 1 {
				s.fault("finish", "choice %d has %d finish reasons, want one", c.index, c.finished)
			}
			c.dropCut()
			s.checkCalls(i, &c.answer)
		}
		s.answers = append(s.answers, c.answer)
	}
}

// dropCut takes a call out that the token limit has cut: a stream may have begun
// it before anybody could know, and its arguments are no JSON, so nobody runs it.
func (c *choice) dropCut() {
	last := len(c.answer.ToolCalls) - 1
	if last < 0 || c.answer.FinishReason != "length" {
		return
	}
	if _, err := decodeObject(c.answer.ToolCalls[last].Arguments); err != nil {
		c.answer.ToolCalls = c.answer.ToolCalls[:last]
	}
}
