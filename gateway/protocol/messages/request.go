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
	body    []byte
	top     map[string]value
	serves  bool // the gateway runs tools of servers of its own
	remarks remarks
	said    history
	offered toolbox
	shown   thinking
	out     []byte
}

// chat writes the chat completion.
func (r *reader) chat(stream bool) ([]byte, error) {
	if r.top == nil {
		r.top = fields(r.body)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	r.remarks.leftover("", r.body, knownFields)
	r.said.remarks = &r.remarks
	if err := r.said.readSystem("system", r.top["system"]); err != nil {
		return nil, err
	}
	if err := r.said.read(r.top["messages"]); err != nil {
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
	r.remarks.leftover("metadata.", r.top["metadata"], knownMetadata)
	if user := find(r.top["metadata"], "user_id"); isString(user) {
		sum := sha256.Sum256([]byte(text(user)))
		r.set("user", wire.AppendQuoted(nil, "user_"+hex.EncodeToString(sum[:16])))
	}
	r.setThinking()
	r.setFormat()
	r.offered.serves, r.offered.remarks = r.serves, &r.remarks
	if err := r.offered.readServers(r.top["mcp_servers"]); err != nil {
		return nil, err
	}
	var err error
	if r.out, err = r.offered.appendTo(r.out, r.top["tools"], r.top["tool_choice"], r.said.added); err != nil {
		return nil, err
	}
	return append(r.said.appendTo(r.out), '}'), nil
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
func (r *reader) set(name string, v value) { r.out = appendField(r.out, name, v) }

// appendField appends a field that is there.
func appendField(b []byte, name string, v value) []byte {
	if v == nil {
		return b
	}
	return append(wire.AppendKey(b, name), v...)
}

// The budgets of tokens for thinking up to which the effort is a low and a medium one.
const (
	lowBudget    = 4096
	mediumBudget = 16384
)

// setThinking sets reasoning_effort. Who does not ask for thinking gets none to see, and who
// leaves its extent to the model says nothing of it.
func (r *reader) setThinking() {
	t, config := r.top["thinking"], r.top["output_config"]
	r.remarks.leftover("thinking.", t, knownThinking)
	r.remarks.leftover("output_config.", config, knownOutput)
	wanted, effort := text(find(config, "effort")), ""
	switch text(find(t, "type")) {
	case "", "disabled":
	case "enabled":
		r.show(t)
		effort = effortOf(find(t, "budget_tokens"))
	default:
		r.show(t)
		effort = wanted
	}
	switch effort {
	case "low", "medium", "high":
	case "xhigh", "max":
		effort = "high"
		wanted = effort
		r.remarks.add("clamped", "output_config.effort")
	default:
		effort = ""
	}
	if wanted != effort && wanted != "" {
		r.remarks.dropped("output_config.effort")
	}
	if effort != "" {
		r.set("reasoning_effort", wire.AppendQuoted(nil, effort))
	}
}

// show notes what of the reasoning the client wants to see.
func (r *reader) show(thinking value) {
	r.shown = readable
	if text(find(thinking, "display")) == "omitted" {
		r.shown = sealed
	}
}

// effortOf is the effort that a budget of tokens stands for.
func effortOf(budget value) string {
	switch n, err := strconv.ParseFloat(string(budget), 64); {
	case err != nil || n <= lowBudget:
		return "low"
	case n <= mediumBudget:
		return "medium"
	}
	return "high"
}

// setFormat sets response_format. output_format is the name that it had before.
func (r *reader) setFormat() {
	place, format := "output_config.format", find(r.top["output_config"], "format")
	if old := r.top["output_format"]; format == nil {
		place, format = "output_format", old
	} else if old != nil {
		r.remarks.dropped("output_format")
	}
	if format == nil {
		return
	}
	schema := find(format, "schema")
	if text(find(format, "type")) != "json_schema" || !isObject(schema) {
		r.remarks.dropped(place)
		return
	}
	r.remarks.leftover(place+".", format, knownFormat)
	r.set("response_format", slices.Concat(value(`{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":`), schema, value(`}}`)))
}
