package messages

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// reader turns a request into a chat completion.
type reader struct {
	body     []byte
	top      map[string]value
	system   prose
	turns    []turn
	tools    map[string]bool // names of those that are offered
	warnings []string
	foreign  *gateway.Error
	serves   bool // the gateway runs tools of servers of its own
	servers  []server
	ran      map[string][2]string // server and tool of earlier calls, by id
	shown    thinking
	out      []byte
}

// dropped notes that something is left out.
func (r *reader) dropped(what string) {
	if w := "dropped:" + what; !slices.Contains(r.warnings, w) && len(r.warnings) < maxWarnings {
		r.warnings = append(r.warnings, w)
	}
}

// maxWarnings is how many of them there may be; they go into a header.
const maxWarnings = 16

// needsOwn notes what only an upstream of the Messages API can take.
func (r *reader) needsOwn(e *gateway.Error) {
	if r.foreign == nil {
		r.foreign = e
	}
}

// chat writes the chat completion.
func (r *reader) chat(stream bool) ([]byte, error) {
	if r.top == nil {
		r.top = fields(r.body)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	if err := r.readSystem("system", r.top["system"]); err != nil {
		return nil, err
	}
	if err := r.readMessages(); err != nil {
		return nil, err
	}
	r.out = append(make([]byte, 0, len(r.body)+len(r.body)/8+1024), '{')
	r.set("model", r.top["model"])
	if stream {
		r.set("stream", value("true"))
		r.set("stream_options", value(`{"include_usage":true}`))
	}
	r.set("max_tokens", r.top["max_tokens"])
	for _, name := range []string{"temperature", "top_p", "top_k"} {
		r.set(name, r.top[name])
	}
	if stops := r.top["stop_sequences"]; isArray(stops) && !wire.Blank(stops[1:len(stops)-1]) {
		r.set("stop", stops)
	}
	if user := find(r.top["metadata"], "user_id"); isString(user) {
		sum := sha256.Sum256([]byte(text(user)))
		r.set("user", wire.AppendQuoted(nil, "user_"+hex.EncodeToString(sum[:16])))
	}
	r.setThinking()
	r.setFormat()
	if err := r.readServers(); err != nil {
		return nil, err
	}
	if err := r.setTools(); err != nil {
		return nil, err
	}
	r.writeMessages()
	return append(r.out, '}'), nil
}

// check refuses fields of a type that they cannot have.
func (r *reader) check() error {
	limit := r.top["max_tokens"]
	if limit == nil {
		return invalid("max_tokens", "The field \"max_tokens\" is missing: say how many tokens the answer may have.")
	}
	if n, err := strconv.Atoi(string(limit)); err != nil || n < 1 {
		return invalid("max_tokens", "The field \"max_tokens\" must be a whole number from 1 on, not %s.", gateway.Excerpt(limit))
	}
	if v := r.top["messages"]; !isArray(v) {
		return invalid("messages", "The field \"messages\" must be an array of messages.")
	} else if wire.Blank(v[1 : len(v)-1]) {
		return invalid("messages", "The field \"messages\" is empty: at least one message is needed.")
	}
	for _, name := range []string{"temperature", "top_p", "top_k"} {
		if v := r.top[name]; v != nil {
			if _, err := strconv.ParseFloat(string(v), 64); err != nil {
				return invalid(name, "The field %q must be a number, not %s.", name, gateway.Excerpt(v))
			}
		}
	}
	if v := r.top["stop_sequences"]; v != nil && !isArray(v) {
		return invalid("stop_sequences", "The field \"stop_sequences\" must be an array of strings, not %s.", gateway.Excerpt(v))
	}
	return elements(r.top["stop_sequences"], func(_ int, v value) error {
		if !isString(v) {
			return invalid("stop_sequences", "The field \"stop_sequences\" must be an array of strings; one of them is %s.", gateway.Excerpt(v))
		}
		return nil
	})
}

// set writes a field that is there.
func (r *reader) set(name string, v value) {
	if v != nil {
		r.out = append(wire.AppendKey(r.out, name), v...)
	}
}

// The budgets of tokens for thinking up to which the effort is a low and a medium one.
const (
	lowBudget    = 4096
	mediumBudget = 16384
)

// setThinking sets reasoning_effort. Who does not ask for thinking gets none to see, and who
// leaves its extent to the model says nothing of it.
func (r *reader) setThinking() {
	t := r.top["thinking"]
	effort := text(find(r.top["output_config"], "effort"))
	switch text(find(t, "type")) {
	case "enabled":
		n, _ := strconv.Atoi(string(find(t, "budget_tokens")))
		switch {
		case n <= lowBudget:
			effort = "low"
		case n <= mediumBudget:
			effort = "medium"
		default:
			effort = "high"
		}
	case "", "disabled":
		return
	}
	r.shown = readable
	if text(find(t, "display")) == "omitted" {
		r.shown = sealed
	}
	switch effort {
	case "low", "medium", "high":
	case "xhigh", "max":
		effort = "high"
	default:
		return
	}
	r.set("reasoning_effort", wire.AppendQuoted(nil, effort))
}

// setFormat sets response_format. output_format is the name that it had before.
func (r *reader) setFormat() {
	format := find(r.top["output_config"], "format")
	if format == nil {
		format = r.top["output_format"]
	}
	if text(find(format, "type")) != "json_schema" {
		return
	}
	if schema := find(format, "schema"); isObject(schema) {
		r.set("response_format", slices.Concat(value(`{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":`), schema, value(`}}`)))
	}
}
