package anthropic_test

import (
	"encoding/json"
	"fmt"
	"testing"
)

// message is an answer in OpenAI's form, whole or put together from a stream, as far
// as clients read it.
type message struct {
	Content   string            `json:"content"`
	Reasoning string            `json:"reasoning_content"`
	Thoughts  []json.RawMessage `json:"thinking_blocks"`
	Calls     []toolCall        `json:"tool_calls"`
	Own       own               `json:"provider_specific_fields"`
	finish    string
	usage     string
}

type toolCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type own struct {
	Blocks    []json.RawMessage `json:"blocks"`
	Citations []json.RawMessage `json:"citations"`
}

type completion struct {
	Choices []struct {
		Message, Delta message
		Finish         *string `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
}

// assemble reads a whole answer or puts the chunks of a stream together. It checks
// what OpenAI's clients rely on: the indexes of calls are 0, 1, 2 …, a call begins
// with its id and name, and nothing follows the finish reason but the usage.
func assemble(tb testing.TB, d drained) message {
	tb.Helper()
	var m message
	for _, data := range d.data {
		var c completion
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			tb.Fatalf("%v in %s", err, data)
		}
		if c.Usage != nil && string(c.Usage) != "null" {
			m.usage = string(c.Usage)
		}
		if len(c.Choices) == 0 {
			continue
		}
		choice := c.Choices[0]
		if m.finish != "" {
			tb.Errorf("got %s behind the finish reason", data)
		}
		m.add(tb, choice.Message)
		m.add(tb, choice.Delta)
		if choice.Finish != nil {
			m.finish = *choice.Finish
		}
	}
	return m
}

// join puts the entries of a list together as OpenAI's SDK for Python does: one that comes in a later chunk says by its
// index that it is the next.
func join(tb testing.TB, list, more []json.RawMessage) []json.RawMessage {
	tb.Helper()
	if len(list) == 0 {
		return more
	}
	for _, raw := range more {
		var entry map[string]json.RawMessage
		if err := json.Unmarshal(raw, &entry); err != nil {
			tb.Fatalf("%v in %s", err, raw)
		}
		if index := string(entry["index"]); index != fmt.Sprint(len(list)) {
			tb.Errorf("got %s behind %d entries, want it to have an index", raw, len(list))
		}
		delete(entry, "index")
		raw, err := json.Marshal(entry)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, raw)
	}
	return list
}

func (m *message) add(tb testing.TB, d message) {
	tb.Helper()
	m.Content += d.Content
	m.Reasoning += d.Reasoning
	m.Thoughts = join(tb, m.Thoughts, d.Thoughts)
	m.Own.Blocks = join(tb, m.Own.Blocks, d.Own.Blocks)
	m.Own.Citations = join(tb, m.Own.Citations, d.Own.Citations)
	for _, c := range d.Calls {
		index := len(m.Calls)
		if c.Index != nil {
			index = *c.Index
		}
		switch {
		case index > len(m.Calls):
			tb.Fatalf("got the call %d behind %d calls", index, len(m.Calls))
		case index == len(m.Calls):
			if c.ID == "" || c.Function.Name == "" || c.Type != "function" {
				tb.Errorf("got the call %+v, want it to begin with id, type and name", c)
			}
			c.Index = nil
			m.Calls = append(m.Calls, c)
		default:
			m.Calls[index].Function.Arguments += c.Function.Arguments
		}
	}
}
