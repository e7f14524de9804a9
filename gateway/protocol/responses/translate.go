package responses

import (
	"strconv"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// Translate makes the chat completion of the request. It is called when all earlier items are
// in front. The error is a *gateway.Error that names the place.
func (r *Request) Translate() error {
	if len(r.earlier)+len(r.items) > maxItems {
		return invalid("input", "The conversation has %d items; there may be at most %d.", len(r.earlier)+len(r.items), maxItems)
	}
	r.tools = toolset{}
	tools := toolReader{&r.tools, r.options.Serves, &r.remarks}
	if err := tools.read(r.fields[fTools], "tools"); err != nil {
		return err
	}
	t := translation{tools: &tools, vault: r.vault(), remarks: &r.remarks, leading: true}
	if v := r.fields[fInstructions]; v != nil {
		t.addSystem(inner(v))
	}
	for i, item := range r.earlier {
		if err := t.add(item, "earlier input["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	for i, item := range r.items {
		if err := t.add(item, "input["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	if len(t.list) == 0 && t.system == nil && r.remarks.foreign == nil {
		return invalid("input", "The field \"input\" has nothing in it that a model could read: send a message.")
	}
	r.ownTools.listed, r.ownTools.ran = t.ownTools.listed, r.ownTools.ran || t.ownTools.ran
	choice, err := (&chooser{&r.tools, r.options.Serves, &r.remarks}).choice(r.fields[fToolChoice])
	if err != nil {
		return err
	}
	return r.write(&t, choice)
}

// write makes the body of the chat completion.
func (r *Request) write(t *translation, choice []byte) error {
	f := &r.fields
	const fixed, each = 256, 32 // what chat completions have more: besides, and for an item or a tool
	size := len(r.body) + len(r.body)/8 + fixed + each*(len(r.earlier)+len(r.items)+len(r.tools.entries))
	for _, item := range r.earlier {
		size += len(item)
	}
	if err := r.options.Room.Grow(int64(size)); err != nil {
		return gateway.NoRoom(err, "The request needs more memory than one may have (limits.memory): send less, or have the limit raised.")
	}
	b := append(make([]byte, 0, size), `{"model":`...)
	b = append(append(b, f[fModel]...), `,"messages":[`...)
	b = append(t.appendTo(b), ']')
	b = r.tools.appendTo(b, f, choice)
	r.tools.entries = nil // they are in it
	for _, same := range [...]struct {
		id   field
		name string
	}{
		{fMaxOutput, "max_completion_tokens"}, {fTemperature, "temperature"}, {fTopP, "top_p"},
		{fPresence, "presence_penalty"}, {fFrequency, "frequency_penalty"}, {fUser, "user"},
		{fServiceTier, "service_tier"}, {fCacheKey, "prompt_cache_key"}, {fCacheRetention, "prompt_cache_retention"}, {fSafetyID, "safety_identifier"},
	} {
		if f[same.id] != nil {
			b = append(wire.AppendKey(b, same.name), f[same.id]...)
		}
	}
	if n := f[fTopLogprobs]; n != nil && string(n) != "0" {
		b = append(append(b, `,"logprobs":true,"top_logprobs":`...), n...)
	} else if r.Includes("message.output_text.logprobs") {
		b = append(b, `,"logprobs":true`...)
	}
	r.remarks.leftover("stream_options.", f[fStreamOptions], nil)
	r.remarks.leftover("reasoning.", f[fReasoning], knownReasoning)
	if effort := object(f[fReasoning]).get("effort"); effort != nil {
		b = append(append(b, `,"reasoning_effort":`...), effort...)
	}
	b, err := r.remarks.appendFormat(b, object(f[fText]))
	if err != nil {
		return err
	}
	if r.Stream() {
		b = append(b, `,"stream":true,"stream_options":{"include_usage":true}`...)
	}
	b = append(b, '}')
	r.chat = b
	return nil
}

// appendTo appends the tools, and what is said of calls of them.
func (s *toolset) appendTo(b []byte, f *fields, choice []byte) []byte {
	if len(s.entries) > 0 {
		b = append(b, `,"tools":[`...)
		for i, e := range s.entries {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, e.json...)
		}
		b = append(b, ']')
		if choice != nil {
			b = append(append(b, `,"tool_choice":`...), choice...)
		}
		if f[fParallel] != nil {
			b = append(append(b, `,"parallel_tool_calls":`...), f[fParallel]...)
		}
	}
	if n := f[fMaxToolCalls]; n != nil && s.servers {
		b = append(append(b, `,"max_tool_calls":`...), n...)
	}
	return b
}

// appendFormat appends what the field "text" says of the answer's form.
func (m *remarks) appendFormat(b []byte, text object) ([]byte, error) {
	m.leftover("text.", text, knownText)
	if v := text.get("verbosity"); v != nil {
		if v[0] != '"' {
			return nil, invalid("text.verbosity", "text.verbosity must be a string, not %s.", gateway.Excerpt(v))
		}
		b = append(append(b, `,"verbosity":`...), v...)
	}
	format := object(text.get("format"))
	if format == nil {
		return b, nil
	}
	if !isObject(format) {
		return nil, invalid("text.format", "text.format must be an object, not %s.", gateway.Excerpt(format))
	}
	m.leftover("text.format.", format, knownFormat)
	switch kind := wire.Unquote(format.get("type")); kind {
	case "text":
		return b, nil
	case "json_object":
		return append(b, `,"response_format":{"type":"json_object"}`...), nil
	case "json_schema":
		if !isString(format.get("name")) {
			return nil, invalid("text.format.name", "text.format.name is missing: a JSON schema has a name.")
		}
		if !isObject(format.get("schema")) {
			return nil, invalid("text.format.schema", "text.format.schema must be an object, a JSON schema.")
		}
		b = append(b, `,"response_format":{"type":"json_schema","json_schema":{`...)
		for _, name := range [...]string{"name", "description", "schema", "strict"} {
			if v := format.get(name); v != nil {
				b = append(wire.AppendKey(b, name), v...)
			}
		}
		return append(b, "}}"...), nil
	default:
		return nil, invalid("text.format.type", "text.format.type must be \"text\", \"json_object\" or \"json_schema\", not %q.", gateway.ExcerptOf(kind, 40))
	}
}
