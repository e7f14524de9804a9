package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// AnthropicSignature is the signature of the thinking block with which the server of
// [Anthropic] begins a turn of tools, if the request switches thinking on. It wants
// the block back, unchanged, as long as the loop goes on.
const AnthropicSignature = "EqQBCkYIARgCKkBzY3JpcHRlZA+/=="

// anthropicThought is the text of that block.
const anthropicThought = "Both tools\nare \"needed\"."

// Anthropic serves Anthropic's Messages API at the base URL URL, that is POST
// /v1/messages. It is as strict as Anthropic, and in one point more: consecutive
// messages of one role, which Anthropic joins, are refused.
func Anthropic(t testing.TB) *Server {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request, body []byte) {
		w.Header().Set("Request-Id", "req_scripted")
		w.Header().Set("Anthropic-Ratelimit-Requests-Remaining", "99")
		if refused := admitAnthropic(r); refused != nil {
			refused.write(w)
			return
		}
		req, refused := readAnthropic(body)
		if refused == nil {
			refused = req.check()
		}
		if refused != nil {
			refused.write(w)
			return
		}
		c := req.conversation()
		turn := next(c)
		for i := range turn.calls {
			turn.calls[i].id = opaqueID("toolu_", c.calls()+i)
		}
		blocks := req.blocks(turn)
		if req.Stream {
			writeEvents(w, anthropicStream(req.Model, blocks, turn))
			return
		}
		writeJSON(w, http.StatusOK, anthropicMessage(req.Model, blocks, anthropicStop(turn)))
	})
}

func admitAnthropic(r *http.Request) *refusal {
	switch {
	case r.URL.Path != "/v1/messages":
		return anthropicError(http.StatusNotFound, "not_found_error", "Not Found")
	case r.Method != http.MethodPost:
		return anthropicError(http.StatusMethodNotAllowed, "invalid_request_error", "Method Not Allowed")
	case r.Header.Get("X-Api-Key") == "":
		return anthropicError(http.StatusUnauthorized, "authentication_error", "x-api-key header is required")
	case r.Header.Get("X-Api-Key") != Key:
		return anthropicError(http.StatusUnauthorized, "authentication_error", "invalid x-api-key")
	case r.Header.Get("Anthropic-Version") == "":
		return anthropicInvalid("anthropic-version: header is required")
	case r.Header.Get("Anthropic-Version") != "2023-06-01":
		return anthropicInvalid("anthropic-version: %q is not a valid version", r.Header.Get("Anthropic-Version"))
	}
	return nil
}

// anthropicError is an error in Anthropic's form.
func anthropicError(status int, kind, message string) *refusal {
	return &refusal{status, mustJSON(map[string]any{
		"type": "error", "error": map[string]any{"type": kind, "message": message}, "request_id": "req_scripted",
	})}
}

func anthropicInvalid(format string, args ...any) *refusal {
	return anthropicError(http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...))
}

// conversation is the request in the script's terms.
func (r *anthropicRequest) conversation() conversation {
	c := conversation{tools: map[string]bool{}}
	if r.choice() != "none" {
		for _, t := range r.Tools {
			c.tools[t.Name] = true
		}
	}
	for _, m := range r.Messages {
		out := message{role: m.Role}
		for _, b := range m.Content {
			switch b.Type {
			case "text":
				out.text += b.Text
			case "tool_use":
				out.calls = append(out.calls, call{b.ID, b.Name, string(b.Input)})
			case "tool_result":
				c.messages = append(c.messages, message{role: "tool", text: contentText(b.Content), answer: b.ToolUseID})
			}
		}
		if out.text != "" || out.calls != nil {
			c.messages = append(c.messages, out)
		}
	}
	return c
}

// blocks are the content of an answer. Without thinking that is switched on, or in
// the midst of a loop, there is no thinking block.
func (r *anthropicRequest) blocks(t turn) []map[string]any {
	var blocks []map[string]any
	last := r.Messages[len(r.Messages)-1].Content
	if len(t.calls) > 0 && r.thinks() && last[0].Type != "tool_result" {
		blocks = append(blocks, map[string]any{"type": "thinking", "thinking": anthropicThought, "signature": AnthropicSignature})
	}
	if t.text != "" {
		blocks = append(blocks, map[string]any{"type": "text", "text": t.text})
	}
	for _, c := range t.calls {
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": c.id, "name": c.name, "input": json.RawMessage(c.arguments)})
	}
	return blocks
}

func anthropicStop(t turn) string {
	if len(t.calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

// anthropicUsage is [usage] in Anthropic's counting.
const anthropicUsage = `{"input_tokens":40,"cache_creation_input_tokens":0,"cache_read_input_tokens":60,"output_tokens":%d,"service_tier":"standard"}`

// anthropicMessage is a whole answer, or what a stream begins with.
func anthropicMessage(model string, blocks []map[string]any, stop string) string {
	reason, output := "null", 1
	if stop != "" {
		reason, output = mustJSON(stop), 20
	}
	if blocks == nil {
		blocks = []map[string]any{}
	}
	return fmt.Sprintf(`{"id":"msg_scripted","type":"message","role":"assistant","model":%s,"content":%s,"stop_reason":%s,"stop_sequence":null,"usage":%s}`,
		mustJSON(model), mustJSON(blocks), reason, fmt.Sprintf(anthropicUsage, output))
}

// anthropicStream is the answer event by event.
func anthropicStream(model string, blocks []map[string]any, t turn) []string {
	event := func(kind, fields string) string {
		return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, fields)
	}
	events := []string{event("message_start", `,"message":`+anthropicMessage(model, nil, "")), event("ping", "")}
	for i, b := range blocks {
		start, deltas := anthropicDeltas(b)
		events = append(events, event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":%s`, i, mustJSON(start))))
		for _, delta := range deltas {
			events = append(events, event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":%s`, i, mustJSON(delta))))
		}
		events = append(events, event("content_block_stop", fmt.Sprintf(`,"index":%d`, i)))
	}
	return append(events,
		event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":20}`, anthropicStop(t))),
		event("message_stop", ""))
}

// anthropicDeltas is a block as it begins in a stream, and how it goes on. An input
// that is empty comes without any delta.
func anthropicDeltas(block map[string]any) (start map[string]any, deltas []map[string]any) {
	add := func(kind, name, text string) {
		for _, piece := range pieces(text) {
			deltas = append(deltas, map[string]any{"type": kind, name: piece})
		}
	}
	start = map[string]any{}
	for name, v := range block {
		start[name] = v
	}
	switch block["type"] {
	case "text":
		start["text"] = ""
		add("text_delta", "text", block["text"].(string))
	case "thinking":
		start["thinking"], start["signature"] = "", ""
		add("thinking_delta", "thinking", block["thinking"].(string))
		deltas = append(deltas, map[string]any{"type": "signature_delta", "signature": block["signature"]})
	case "tool_use":
		start["input"] = map[string]any{}
		if input := string(block["input"].(json.RawMessage)); strings.TrimSpace(input) != "{}" {
			deltas = append(deltas, map[string]any{"type": "input_json_delta", "partial_json": ""})
			add("input_json_delta", "partial_json", input)
		}
	}
	return start, deltas
}
