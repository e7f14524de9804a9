// Package messagestest judges answers of the Messages API, for tests. It knows nothing of the
// code that writes them: it holds the order of the events, the members that they must have, and
// what the deltas come to, by Anthropic's documentation and what the SDKs demand.
package messagestest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Message is what an answer comes to.
type Message struct {
	ID           string  `json:"id"`
	Type         string  `json:"type"`
	Role         string  `json:"role"`
	Model        string  `json:"model"`
	Content      []Block `json:"content"`
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
	Usage        *Usage  `json:"usage"`
}

// Block is a block of the content.
type Block struct {
	Type      string            `json:"type"`
	Text      string            `json:"text,omitempty"`
	Thinking  string            `json:"thinking,omitempty"`
	Signature string            `json:"signature,omitempty"`
	Data      string            `json:"data,omitempty"`
	ID        string            `json:"id,omitempty"`
	Name      string            `json:"name,omitempty"`
	Input     json.RawMessage   `json:"input,omitempty"`
	Citations []json.RawMessage `json:"citations,omitempty"`
	// Server is that of mcp_tool_use; ToolUseID, IsError and Content are those of mcp_tool_result.
	Server    string          `json:"server_name,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	IsError   *bool           `json:"is_error,omitempty"`
	Content   json.RawMessage `json:"content,omitempty"`
}

// Usage is what an answer has cost in tokens.
type Usage struct {
	Input    *int `json:"input_tokens"`
	Output   *int `json:"output_tokens"`
	Creation *int `json:"cache_creation_input_tokens"`
	Read     *int `json:"cache_read_input_tokens"`
}

var (
	idForm      = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	stopReasons = []string{"end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "compaction", "refusal", "model_context_window_exceeded"}
)

// Whole judges a whole answer.
func Whole(body []byte) (*Message, error) {
	var m Message
	if err := strict(body, &m); err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return &m, err
	}
	for i, b := range m.Content {
		if err := b.check(m.cut()); err != nil {
			return &m, fmt.Errorf("content[%d]: %w", i, err)
		}
	}
	return &m, m.ended()
}

// strict decodes JSON that must be an object with the members of a message.
func strict(body []byte, m *Message) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return fmt.Errorf("%w in %.200s", err, body)
	}
	for _, name := range []string{"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"} {
		if all[name] == nil {
			return fmt.Errorf("the message has no member %q: %.200s", name, body)
		}
	}
	return json.Unmarshal(body, m)
}

func (m *Message) check() error {
	switch {
	case !strings.HasPrefix(m.ID, "msg_") || !idForm.MatchString(m.ID):
		return fmt.Errorf("the id is %q", m.ID)
	case m.Type != "message" || m.Role != "assistant":
		return fmt.Errorf("type is %q and role %q", m.Type, m.Role)
	case m.Model == "":
		return fmt.Errorf("there is no model")
	case m.Content == nil:
		return fmt.Errorf("content is no array")
	}
	return m.Usage.check(true)
}

func (u *Usage) check(whole bool) error {
	if u == nil || u.Output == nil || whole && u.Input == nil {
		return fmt.Errorf("the usage lacks a count")
	}
	for _, n := range []*int{u.Input, u.Output, u.Creation, u.Read} {
		if n != nil && *n < 0 {
			return fmt.Errorf("a count of tokens is %d", *n)
		}
	}
	return nil
}

// cut reports whether the answer ended where there was no more room.
func (m *Message) cut() bool { return m.StopReason != nil && *m.StopReason == "max_tokens" }

// ended judges how the answer ended.
func (m *Message) ended() error {
	if m.StopReason == nil || !slices.Contains(stopReasons, *m.StopReason) {
		return fmt.Errorf("the stop reason is %v", m.StopReason)
	}
	if (*m.StopReason == "stop_sequence") != (m.StopSequence != nil) {
		return fmt.Errorf("the stop reason is %q and the sequence %v", *m.StopReason, m.StopSequence)
	}
	calls := slices.ContainsFunc(m.Content, func(b Block) bool { return b.Type == "tool_use" })
	if calls != (*m.StopReason == "tool_use") && *m.StopReason != "max_tokens" && *m.StopReason != "pause_turn" {
		return fmt.Errorf("the stop reason is %q with calls: %v", *m.StopReason, calls)
	}
	ran := map[string]bool{}
	for _, b := range m.Content {
		switch {
		case b.Type == "mcp_tool_use":
			ran[b.ID] = true
		case b.Type == "mcp_tool_result" && !ran[b.ToolUseID]:
			return fmt.Errorf("a result is of the call %q, which is not there", b.ToolUseID)
		}
	}
	seen := map[string]bool{}
	for _, b := range m.Content {
		if b.Type == "tool_use" && seen[b.ID] {
			return fmt.Errorf("two calls have the id %q", b.ID)
		}
		seen[b.ID] = b.Type == "tool_use"
	}
	return nil
}

// check judges a whole block.
func (b *Block) check(cut bool) error {
	switch b.Type {
	case "text":
		if b.Text == "" {
			return fmt.Errorf("a text is empty")
		}
	case "thinking":
		if b.Signature == "" {
			return fmt.Errorf("thinking has no signature")
		}
	case "redacted_thinking":
		if b.Data == "" {
			return fmt.Errorf("redacted_thinking has no data")
		}
	case "tool_use":
		var input map[string]json.RawMessage
		switch {
		case !idForm.MatchString(b.ID):
			return fmt.Errorf("a call has the id %q", b.ID)
		case b.Name == "":
			return fmt.Errorf("a call has no name")
		case json.Unmarshal(b.Input, &input) != nil && !cut:
			return fmt.Errorf("the input of %s is %s", b.Name, b.Input)
		}
	case "mcp_tool_use":
		var input map[string]json.RawMessage
		if !strings.HasPrefix(b.ID, "mcptoolu_") || !idForm.MatchString(b.ID) || b.Name == "" || json.Unmarshal(b.Input, &input) != nil {
			return fmt.Errorf("a call of the server's has the id %q, the name %q and the input %s", b.ID, b.Name, b.Input)
		}
	case "mcp_tool_result":
		var content []Block
		if b.IsError == nil || b.ToolUseID == "" || json.Unmarshal(b.Content, &content) != nil {
			return fmt.Errorf("a result of the server's is %+v", b)
		}
	case "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result", "compaction":
	default:
		return fmt.Errorf("a block has the type %q", b.Type)
	}
	return nil
}
