package gateway

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/wire"
)

// thinkers are models whose prompt always ends inside the reasoning, so that their
// output has an end marker and no start marker. (From their chat templates. Models
// that can be told not to think are not among them: for those the configuration has
// to say it.)
var thinkers = [...]string{
	"*deepseek-r1*", "*qwq*", "*qwen3*-thinking*", "*minimax-m2*", "*step-3*", "*kimi-k3*", "*ernie-4.5*-thinking*",
	"*apriel-1.6*", "*mimo-*thinking*",
}

// reasoningStart says how the output of a model begins. What the configuration says
// stands, but a client that switches the thinking off gets none. A stream cannot
// take back what it has sent as content when an end marker comes, so for models that
// always think it begins as reasoning; a whole answer shows by itself what it is.
func reasoningStart(t Target, req *Request, model string, streamed bool) chain.Reasoning {
	switch {
	case t.Reasoning != chain.Closed && req.thinkingOff() && !alwaysThinks(model):
		return chain.Closed
	case t.Reasoning == chain.Auto && streamed && alwaysThinks(model):
		return chain.Open
	}
	return t.Reasoning
}

func alwaysThinks(model string) bool {
	flat := strings.ReplaceAll(strings.ToLower(model), "/", "-")
	return slices.ContainsFunc(thinkers[:], func(glob string) bool {
		ok, err := path.Match(glob, flat)
		return err == nil && ok
	})
}

// thinkingOff reports whether the client asks for no reasoning, in one of the ways
// that servers know: enable_thinking and thinking of vLLM's and SGLang's
// chat_template_kwargs, enable_thinking of Qwen's API, think of Ollama's, and
// OpenAI's reasoning_effort.
func (r *Request) thinkingOff() bool {
	off := false
	wire.Members(r.body, 0, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "chat_template_kwargs":
			if r.body[v.Start] == '{' {
				wire.Members(r.body, v.Start, func(key []byte, v wire.Span) bool {
					off = off || (string(key) == "enable_thinking" || string(key) == "thinking") && isFalse(v.Of(r.body))
					return !off
				})
			}
		case "enable_thinking", "think":
			off = isFalse(v.Of(r.body))
		case "reasoning_effort":
			off = string(v.Of(r.body)) == `"none"`
		}
		return !off
	})
	return off
}

// reasoningFields are the names that servers and clients use for the reasoning of a
// message. Both are read.
var reasoningFields = [...]string{"reasoning_content", "reasoning"}

// renameReasoning gives an upstream's own reasoning the configured name, so that a
// client finds all of it in one place. A message that has both is left alone.
func (r *Response) renameReasoning(f Frame, body string) Frame {
	name := r.gateway.renameTo
	if name == "" || r.target.Mode != Repair || !bytes.Contains(f.Data, []byte(`"reasoning`)) || !locate(&r.scratch, f.Data, body) {
		return f
	}
	var edits []wire.Edit
	for i := range r.scratch.parts {
		if p := &r.scratch.parts[i]; !p.body.Empty() {
			edits = append(edits, renames(f.Data, p.body.Start, name)...)
		}
	}
	at := bytes.Index(f.Raw, f.Data) // a block of several lines of data holds it in pieces
	if len(edits) == 0 || at < 0 {
		return f
	}
	r.renamed = true
	data := wire.Splice(f.Data, edits)
	f.Raw = slices.Concat(f.Raw[:at], data, f.Raw[at+len(f.Data):])
	f.Data = data
	return f
}

// renames is the edit that gives reasoning in the message at start the name, if it
// has another.
func renames(data []byte, start int, name string) []wire.Edit {
	var found []wire.Edit
	wanted := false
	wire.Members(data, start, func(key []byte, v wire.Span) bool {
		k := string(key)
		wanted = wanted || k == name
		if k != name && slices.Contains(reasoningFields[:], k) && !v.IsNull(data) {
			quoted := `"` + k + `"`
			at := bytes.LastIndex(data[:v.Start], []byte(quoted))
			found = append(found, wire.Edit{At: wire.Span{Start: at, End: at + len(quoted)}, With: []byte(`"` + name + `"`)})
		}
		return true
	})
	if wanted || len(found) != 1 || found[0].At.Start < 0 {
		return nil
	}
	return found
}

func isFalse(b []byte) bool { return bytes.Equal(b, []byte("false")) }
