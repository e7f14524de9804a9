package scripted

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// anthropicRequest is what a server reads of a request. Fields that are not here are
// unknown to it.
type anthropicRequest struct {
	Model       string             `json:"model"`
	Messages    []anthropicContent `json:"messages"`
	MaxTokens   *int               `json:"max_tokens"`
	Stream      bool               `json:"stream"`
	System      anthropicBlocks    `json:"system"`
	Temperature *float64           `json:"temperature"`
	Tools       []struct {
		Name        string `json:"name"`
		InputSchema struct {
			Type string `json:"type"`
		} `json:"input_schema"`
	} `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Thinking   struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`

	TopP          json.RawMessage `json:"top_p"`
	TopK          json.RawMessage `json:"top_k"`
	StopSequences []string        `json:"stop_sequences"`
	Metadata      json.RawMessage `json:"metadata"`
	OutputConfig  json.RawMessage `json:"output_config"`
	ServiceTier   string          `json:"service_tier"`
	CacheControl  json.RawMessage `json:"cache_control"`
}

type anthropicContent struct {
	Role    string          `json:"role"`
	Content anthropicBlocks `json:"content"`
}

// anthropicBlocks are a content: blocks, or a string in the place of one of text.
type anthropicBlocks []anthropicBlock

// UnmarshalJSON implements [json.Unmarshaler].
func (b *anthropicBlocks) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*b = anthropicBlocks{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(data, (*[]anthropicBlock)(b))
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
}

// readAnthropic reads a body, and refuses fields at the top that Anthropic does not
// know.
func readAnthropic(body []byte) (*anthropicRequest, *refusal) {
	var req anthropicRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, anthropicInvalid("The request body is not valid: %v", err)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	var top map[string]json.RawMessage
	if err := d.Decode(&top); err != nil {
		return nil, anthropicInvalid("The request body is not valid: %v", err)
	}
	known := strings.Fields("model messages max_tokens stream system temperature tools tool_choice thinking top_p top_k " +
		"stop_sequences metadata output_config service_tier cache_control")
	for name := range top {
		if !slices.Contains(known, name) {
			return nil, anthropicInvalid("%s: Extra inputs are not permitted", name)
		}
	}
	return &req, nil
}

func (r *anthropicRequest) thinks() bool { return r.Thinking.Type == "enabled" }

// choice is the type of tool_choice.
func (r *anthropicRequest) choice() string {
	var c struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(r.ToolChoice, &c) // absent says nothing
	return c.Type
}

// check is the refusal of a request that Anthropic would not take.
func (r *anthropicRequest) check() *refusal {
	switch {
	case r.Model == "":
		return anthropicInvalid("model: Field required")
	case r.MaxTokens == nil:
		return anthropicInvalid("max_tokens: Field required")
	case *r.MaxTokens < 1:
		return anthropicInvalid("max_tokens: must be greater than or equal to 1")
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 1):
		return anthropicInvalid("temperature: range: 0..1")
	case len(r.Messages) == 0:
		return anthropicInvalid("messages: at least one message is required")
	case r.ToolChoice != nil && len(r.Tools) == 0:
		return anthropicInvalid("tool_choice: may only be specified while providing tools")
	}
	for _, b := range r.System {
		if b.Type != "text" || b.Text == "" {
			return anthropicInvalid("system: text content blocks must be non-empty")
		}
	}
	for _, s := range r.StopSequences {
		if strings.TrimSpace(s) == "" {
			return anthropicInvalid("stop_sequences: each stop sequence must contain non-whitespace")
		}
	}
	for i, t := range r.Tools {
		if t.InputSchema.Type != "object" {
			return anthropicInvalid("tools.%d.custom.input_schema.type: Field required", i)
		}
	}
	if refused := r.checkMessages(); refused != nil {
		return refused
	}
	return r.checkThinking()
}

func (r *anthropicRequest) checkMessages() *refusal {
	var waiting []string // the calls of the message before
	for i, m := range r.Messages {
		switch {
		case m.Role != "user" && m.Role != "assistant":
			return anthropicInvalid("messages: Unexpected role %q. The Messages API accepts a top-level `system` parameter, not %q as an input message role.", m.Role, m.Role)
		case i == 0 && m.Role != "user":
			return anthropicInvalid("messages: first message must use the \"user\" role")
		case i > 0 && m.Role == r.Messages[i-1].Role:
			return anthropicInvalid("messages: roles must alternate between \"user\" and \"assistant\", but found multiple %q roles in a row", m.Role)
		case len(m.Content) == 0:
			return anthropicInvalid("messages.%d: %s messages must have non-empty content", i, m.Role)
		}
		if refused := m.checkResults(i, waiting); refused != nil {
			return refused
		}
		waiting = nil
		for j, b := range m.Content {
			if refused := b.check(i, j, m.Role); refused != nil {
				return refused
			}
			if b.Type == "tool_use" {
				waiting = append(waiting, b.ID)
			}
			if (b.Type == "tool_use" || b.Type == "tool_result") && len(r.Tools) == 0 {
				return anthropicInvalid("Requests which include `tool_use` or `tool_result` blocks must define tools")
			}
		}
	}
	if len(waiting) > 0 {
		return anthropicUnanswered(len(r.Messages)-1, waiting)
	}
	return nil
}

func anthropicUnanswered(i int, ids []string) *refusal {
	return anthropicInvalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i, strings.Join(ids, ", "))
}

// checkResults compares the results at the front of a message with the calls of the
// one before.
func (m anthropicContent) checkResults(i int, waiting []string) *refusal {
	waiting = slices.Clone(waiting)
	front := true
	for j, b := range m.Content {
		if b.Type != "tool_result" {
			front = false
			continue
		}
		n := slices.Index(waiting, b.ToolUseID)
		switch {
		case n < 0:
			return anthropicInvalid("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
				"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, b.ToolUseID)
		case front:
			waiting = slices.Delete(waiting, n, n+1)
		}
	}
	if len(waiting) > 0 {
		return anthropicUnanswered(i-1, waiting)
	}
	return nil
}

var anthropicID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func (b anthropicBlock) check(i, j int, role string) *refusal {
	var object map[string]any
	switch b.Type {
	case "text":
		if strings.TrimSpace(b.Text) == "" {
			return anthropicInvalid("messages: text content blocks must contain non-whitespace text")
		}
	case "tool_use":
		switch {
		case role != "assistant":
			return anthropicInvalid("messages.%d: `tool_use` blocks can only be in `assistant` messages", i)
		case !anthropicID.MatchString(b.ID):
			return anthropicInvalid("messages.%d.content.%d.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", i, j)
		case json.Unmarshal(b.Input, &object) != nil || object == nil:
			return anthropicInvalid("messages.%d.content.%d.tool_use.input: Input should be a valid dictionary", i, j)
		}
	case "tool_result":
		if role != "user" {
			return anthropicInvalid("messages.%d: `tool_result` blocks can only be in `user` messages", i)
		}
	case "thinking":
		if b.Signature != AnthropicSignature || b.Thinking != anthropicThought {
			return anthropicInvalid("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)
		}
	case "image", "document", "redacted_thinking":
	default:
		return anthropicInvalid("messages.%d.content.%d: Input tag %q found using 'type' does not match any of the expected tags", i, j, b.Type)
	}
	return nil
}

// checkThinking has the rules for requests that switch thinking on.
func (r *anthropicRequest) checkThinking() *refusal {
	if !r.thinks() {
		return nil
	}
	switch {
	case r.Thinking.Budget < 1024:
		return anthropicInvalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case *r.MaxTokens <= r.Thinking.Budget:
		return anthropicInvalid("`max_tokens` must be greater than `thinking.budget_tokens`.")
	case r.choice() == "any" || r.choice() == "tool":
		return anthropicInvalid("Thinking may not be enabled when tool_choice forces tool use.")
	case r.Temperature != nil && *r.Temperature != 1:
		return anthropicInvalid("`temperature` may only be set to 1 when thinking is enabled.")
	}
	for i, m := range slices.Backward(r.Messages) {
		if m.Role == "user" && m.Content[len(m.Content)-1].Type != "tool_result" {
			return nil
		}
		inner := i >= 2 && r.Messages[i-1].Content[0].Type == "tool_result"
		if first := m.Content[0].Type; m.Role == "assistant" && !inner && first != "thinking" && first != "redacted_thinking" {
			return anthropicInvalid("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. "+
				"When `thinking` is enabled, a final `assistant` message must start with a thinking block.", i, first)
		}
	}
	return nil
}
