package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// wire is a vendor that speaks OpenAI's chat completions: what it takes, what it
// calls a fault, and where its answers differ from OpenAI's.
type wire struct {
	// admit checks where a request came and with which key. Nil means that all is well.
	admit func(r *http.Request, req *chatRequest) *refusal
	rules rules
	// refuse puts a fault into the vendor's words.
	refuse func(f fault) refusal
	// broken is the answer to a body that is no request.
	broken refusal
	// id names the nth call of the conversation, counted from 0.
	id func(name string, n int) string
	// write turns the model's next turn into an answer.
	write func(w http.ResponseWriter, req *chatRequest, t turn)
}

// serve starts the vendor's server.
func (v wire) serve(t testing.TB) *Server {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request, body []byte) {
		w.Header().Set("X-Request-Id", "req-scripted")
		var req chatRequest
		err := json.Unmarshal(body, &req)
		if refused := v.admit(r, &req); refused != nil {
			refused.write(w)
			return
		}
		if err != nil {
			v.broken.write(w)
			return
		}
		c := req.conversation()
		if f := c.check(v.rules); f != nil {
			v.refuse(*f).write(w)
			return
		}
		turn := next(c)
		for i := range turn.calls {
			turn.calls[i].id = v.id(turn.calls[i].name, c.calls()+i)
		}
		v.write(w, &req, turn)
	})
}

// chatRequest is what a server reads of a request.
type chatRequest struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages []struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCalls  []wireCall      `json:"tool_calls"`
		ToolCallID string          `json:"tool_call_id"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
}

type wireCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// newCall is a call, or a fragment of one, as it stands in an answer.
func newCall(index *int, id, name, arguments string) wireCall {
	w := wireCall{Index: index, ID: id}
	if id != "" || name != "" {
		w.Type = "function"
	}
	w.Function.Name, w.Function.Arguments = name, arguments
	return w
}

// offersTools says whether the model may call one.
func (r *chatRequest) offersTools() bool {
	return len(r.Tools) > 0 && string(r.ToolChoice) != `"none"`
}

func (r *chatRequest) conversation() conversation {
	c := conversation{tools: map[string]bool{}}
	if r.offersTools() {
		for _, t := range r.Tools {
			c.tools[t.Function.Name] = true
		}
	}
	for _, m := range r.Messages {
		out := message{role: m.Role, text: contentText(m.Content), answer: m.ToolCallID}
		for _, w := range m.ToolCalls {
			out.calls = append(out.calls, call{w.ID, w.Function.Name, w.Function.Arguments})
		}
		c.messages = append(c.messages, out)
	}
	return c
}

// contentText is the text of a message's content, a string or parts.
func contentText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &parts) // null has no text
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// bearer says whether a request brings the key as most vendors take it.
func bearer(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer "+Key }

// path is where a call of a conversation stands in a request.
func (f fault) path() string {
	return fmt.Sprintf("messages[%d].tool_calls[%d]", f.message, f.call)
}
