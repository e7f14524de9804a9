package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// reply is what an answer says, and what is wrong with how it says it.
type reply struct {
	answers []Answer
	data    []string       // of a stream, or the one body
	deltas  []string       // of a stream, as reduce gives them
	usage   map[string]any // the last that was sent
	failure json.RawMessage
	faults  []Fault
}

// fault notes that a rule for every answer is broken; see formRules.
func (r *reply) fault(rule, format string, args ...any) {
	r.faults = append(r.faults, faultOf(rule, fmt.Sprintf(format, args...)))
}

// completion is a whole answer on the wire.
type completion struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Choices []struct {
		Index        int             `json:"index"`
		Message      *message        `json:"message"`
		FinishReason json.RawMessage `json:"finish_reason"`
	} `json:"choices"`
}

// message is a message or a delta. A text that is there but no string is refused
// when it is decoded.
type message struct {
	Role             string     `json:"role"`
	Content          *string    `json:"content"`
	Reasoning        *string    `json:"reasoning"`
	ReasoningContent *string    `json:"reasoning_content"`
	ToolCalls        []wireCall `json:"tool_calls"`
}

type wireCall struct {
	Index    *int    `json:"index"`
	ID       *string `json:"id"`
	Type     *string `json:"type"`
	Function struct {
		Name      *string `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
}

// text is s, or "" where there is none.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// thoughts is the reasoning, under either of its names. A server may send both
// with the same text.
func (m *message) thoughts() string {
	if m.ReasoningContent != nil && *m.ReasoningContent != "" {
		return *m.ReasoningContent
	}
	return text(m.Reasoning)
}

// readWhole reads a whole answer and checks its form.
func readWhole(body []byte) *reply {
	r := &reply{data: []string{string(body)}}
	var c completion
	if err := json.Unmarshal(body, &c); err != nil {
		r.fault("completion", "the answer is no completion: %v", err)
		return r
	}
	o, _ := decodeObject(body) // it is one
	r.usage, _ = o["usage"].(map[string]any)
	if c.Object != "chat.completion" {
		r.fault("completion", "object: got %q, want %q", c.Object, "chat.completion")
	}
	if c.ID == "" {
		r.fault("completion", "id: is missing")
	}
	for i, choice := range c.Choices {
		if choice.Index != i {
			r.fault("completion", "choices[%d].index: got %d", i, choice.Index)
		}
		if choice.Message == nil {
			r.fault("completion", "choices[%d].message: is missing", i)
			continue
		}
		a := Answer{Content: text(choice.Message.Content), Reasoning: choice.Message.thoughts()}
		if choice.Message.Role != "assistant" {
			r.fault("role", "choices[%d].message.role: got %q, want %q", i, choice.Message.Role, "assistant")
		}
		a.FinishReason = unquote(choice.FinishReason)
		for _, call := range choice.Message.ToolCalls {
			a.ToolCalls = append(a.ToolCalls, Call{ID: text(call.ID), Name: text(call.Function.Name),
				Arguments: json.RawMessage(text(call.Function.Arguments))})
			if text(call.Type) != "function" {
				r.fault("call", "choices[%d]: tool call %d has the type %q, want %q", i, len(a.ToolCalls)-1, text(call.Type), "function")
			}
		}
		r.checkCalls(i, &a)
		r.answers = append(r.answers, a)
	}
	return r
}

// checkCalls checks what holds for the calls of every complete answer.
func (r *reply) checkCalls(choice int, a *Answer) {
	ids := map[string]bool{}
	for i, call := range a.ToolCalls {
		if call.ID == "" || ids[call.ID] {
			r.fault("call", "choices[%d]: tool call %d has the id %q, want one of its own", choice, i, call.ID)
		}
		ids[call.ID] = true
		if call.Name == "" {
			r.fault("call", "choices[%d]: tool call %d has no name", choice, i)
		}
		if _, err := decodeObject(call.Arguments); err != nil {
			r.fault("call", "choices[%d]: the arguments of tool call %d are no JSON object (%v): %.200q", choice, i, err, call.Arguments)
		}
	}
	if a.FinishReason == "tool_calls" && len(a.ToolCalls) == 0 {
		r.fault("call_reason", "choices[%d]: the finish reason is tool_calls, but there is no call", choice)
	}
}

// unquote is the text of a JSON string, or "".
func unquote(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // else it is ""
	return s
}

// checkError checks the form that every error of a protocol has, and what the case wants of
// it at a level. One that the gateway itself has made, own, has all four members.
func (c *Case) checkError(l Level, want json.RawMessage, body []byte, own bool) (faults []Fault) {
	var e struct {
		Type  string `json:"type"`
		Error struct {
			Message string `json:"message"`
			Type    string `json:"type"`
		} `json:"error"`
	}
	rule := "error"
	if c.protocol() == messagesAPI {
		rule = "message_error"
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return append(faults, faultOf(rule, fmt.Sprintf("the error is not the protocol's object: %v", err)))
	}
	if strings.TrimSpace(e.Error.Message) == "" {
		faults = append(faults, faultOf(rule, "the error must have a message"))
	}
	if e.Error.Type == "" && rule == "error" {
		faults = append(faults, faultOf("error_type", "the error must have a type"))
	}
	if c.protocol() == messagesAPI && e.Error.Type == "" {
		faults = append(faults, faultOf(rule, "the error must have a type"))
	}
	if c.protocol() == messagesAPI && e.Type != "error" {
		faults = append(faults, faultOf(rule, fmt.Sprintf("type: got %q, want %q", e.Type, "error")))
	}
	if own && c.protocol() != messagesAPI {
		var all struct{ Error map[string]json.RawMessage }
		_ = json.Unmarshal(body, &all) // it went well above
		for _, name := range []string{"param", "code"} {
			if all.Error[name] == nil {
				faults = append(faults, faultOf("error_nulls", fmt.Sprintf("error body.error.%s: is missing, and may be null", name)))
			}
		}
	}
	return append(faults, l.grade(differJSON("error body", want, bytes.TrimSpace(body)), "")...)
}

// differJSON is differ for text; keys are left out of both sides.
func differJSON(at string, want, got []byte, keys ...string) []finding {
	w, err := decode(want)
	if err != nil {
		return []finding{{isChanged, fmt.Sprintf("%s: what the case wants is no JSON: %v", at, err)}}
	}
	g, err := decode(got)
	if err != nil {
		return []finding{{isChanged, fmt.Sprintf("%s: is no JSON: %v", at, err)}}
	}
	return differ(at, without(w, keys...), without(g, keys...))
}
