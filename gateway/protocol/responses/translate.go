package responses

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// Translate makes the chat completion of the request. It is called when all earlier items are
// in front. The error is a *gateway.Error that names the place.
func (r *Request) Translate() error {
	if len(r.earlier)+len(r.items) > maxItems {
		return invalid("input", "The conversation has %d items; there may be at most %d.", len(r.earlier)+len(r.items), maxItems)
	}
	r.tools = toolset{byName: map[string]tool{}}
	if err := r.readTools(r.fields[fTools], "tools"); err != nil {
		return err
	}
	t := translation{r: r, calls: map[string]*message{}, leading: true}
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
	if len(t.list) == 0 && t.system == nil {
		return invalid("input", "The field \"input\" has nothing in it that a model could read: send a message.")
	}
	choice, err := r.toolChoice()
	if err != nil {
		return err
	}
	return r.write(&t, choice)
}

// write makes the body of the chat completion.
func (r *Request) write(t *translation, choice []byte) error {
	f := &r.fields
	size := len(r.body) + len(r.body)/8 + 1024
	for _, item := range r.earlier {
		size += len(item)
	}
	b := append(make([]byte, 0, size), `{"model":`...)
	b = append(append(b, f[fModel]...), `,"messages":[`...)
	b = append(t.appendTo(b), ']')
	if len(r.tools.chat) > 0 {
		b = append(append(append(b, `,"tools":[`...), r.tools.chat...), ']')
		if choice != nil {
			b = append(append(b, `,"tool_choice":`...), choice...)
		}
		if f[fParallel] != nil {
			b = append(append(b, `,"parallel_tool_calls":`...), f[fParallel]...)
		}
	}
	for _, same := range [...]struct {
		id   field
		name string
	}{
		{fMaxOutput, "max_completion_tokens"}, {fTemperature, "temperature"}, {fTopP, "top_p"}, {fUser, "user"},
		{fServiceTier, "service_tier"}, {fCacheKey, "prompt_cache_key"}, {fCacheRetention, "prompt_cache_retention"}, {fSafetyID, "safety_identifier"},
	} {
		if f[same.id] != nil {
			b = append(wire.AppendKey(b, same.name), f[same.id]...)
		}
	}
	if n := f[fTopLogprobs]; n != nil && string(n) != "0" {
		b = append(append(b, `,"logprobs":true,"top_logprobs":`...), n...)
	} else if r.includes("message.output_text.logprobs") {
		b = append(b, `,"logprobs":true`...)
	}
	if effort := object(f[fReasoning]).get("effort"); effort != nil {
		b = append(append(b, `,"reasoning_effort":`...), effort...)
	}
	b, err := r.appendFormat(b)
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

// appendFormat appends what "text" says of the answer's form.
func (r *Request) appendFormat(b []byte) ([]byte, error) {
	text := object(r.fields[fText])
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

// translation makes messages of items. What the model has said in one turn, which Responses
// has several items for, is one message.
type translation struct {
	r       *Request
	system  []byte // what stands between the quotes of the first message's text
	leading bool   // nothing but instructions has come yet
	list    []*message
	open    *message            // the model's, that the next of its items goes into
	calls   map[string]*message // by the id of the call
}

// message is one of the chat's, with the results of its calls behind it.
type message struct {
	role    string // "" for the model's
	content parts  // of the others

	group     string // of the ids of its items: which answer they were a part of
	text      []byte // this and the next two as they stand between quotes
	refusal   []byte
	reasoning []byte
	thoughts  []byte // members that upstreams need back, with a comma in front of each
	said      bool   // it has text, were it empty
	calls     []chatCall
	results   []result
}

// chatCall is a call: its id, its name and its arguments, as JSON.
type chatCall struct{ id, name, args []byte }

// result is the result of a call, with its id as JSON.
type result struct {
	id      []byte
	content parts
}

const (
	system    = "system"
	user      = "user"
	assistant = "assistant"
)

// separator stands between texts that were messages of their own, as it is written in a string.
const separator = `\n\n`

func (t *translation) addSystem(text []byte) {
	if t.system == nil {
		t.system = []byte{}
	}
	if len(t.system) > 0 && len(text) > 0 {
		t.system = append(t.system, separator...)
	}
	t.system = append(t.system, text...)
}

// itemType is what an item is; a message and a reference need not say it.
func itemType(item object) string {
	if v := item.get("type"); v != nil {
		return wire.Unquote(v)
	}
	switch {
	case item.get("role") != nil:
		return "message"
	case item.get("id") != nil:
		return "item_reference"
	}
	return ""
}

// unusable are items of tools that OpenAI runs, and of others that no chat completion has a
// place for.
var unusable = map[string]bool{
	"web_search_call": true, "file_search_call": true, "computer_call": true, "computer_call_output": true,
	"code_interpreter_call": true, "image_generation_call": true, "local_shell_call": true, "local_shell_call_output": true,
	"shell_call": true, "shell_call_output": true, "apply_patch_call": true, "apply_patch_call_output": true,
	"tool_search_call": true, "tool_search_output": true, "mcp_list_tools": true, "mcp_call": true,
	"mcp_approval_request": true, "mcp_approval_response": true,
}

// add translates an item.
func (t *translation) add(item object, place string) error {
	kind := itemType(item)
	switch kind {
	case "message":
		return t.addMessage(item, place)
	case "reasoning":
		t.leading = false
		return t.addReasoning(item, place)
	case "function_call", "custom_tool_call":
		t.leading = false
		return t.addCall(item, place, kind == "custom_tool_call")
	case "function_call_output", "custom_tool_call_output":
		return t.addResult(item, place)
	case "additional_tools":
		if !isArray(item.get("tools")) {
			return invalid(place+".tools", "%s.tools must be an array of tools.", place)
		}
		return t.r.readTools(item.get("tools"), place+".tools")
	case "compaction":
		return t.addCompaction(item, place)
	case "item_reference":
		return invalid(place, "%s refers to the stored item %s, which there is none of: send the item itself.", place, gateway.Excerpt(item.get("id")))
	case "":
		return invalid(place+".type", "%s has no type: a message has \"role\" and \"content\", other items say their type.", place)
	}
	if !unusable[kind] {
		return invalid(place+".type", "%s has the type %q, which this gateway does not know.", place, gateway.ExcerptOf(kind, 40))
	}
	t.r.warn("item_dropped", kind)
	return nil
}

// addMessage translates a message of any role.
func (t *translation) addMessage(item object, place string) error {
	role, content := wire.Unquote(item.get("role")), item.get("content")
	if content == nil || content[0] != '"' && content[0] != '[' {
		return invalid(place+".content", "%s.content must be a string or an array of parts.", place)
	}
	switch role {
	case assistant:
		t.leading = false
		return t.addAnswer(item, content, place)
	case user, system, "developer":
	default:
		return invalid(place+".role", "%s.role must be \"user\", \"assistant\", \"system\" or \"developer\", not %q.", place, gateway.ExcerptOf(role, 40))
	}
	parts := parts{item: place, member: "content"}
	if err := parts.read(content, role); err != nil {
		return err
	}
	if role != user {
		role = system
		if t.leading && parts.others() == 0 {
			t.addSystem(parts.appendText(nil, separator))
			return nil
		}
	}
	t.leading, t.open = false, nil
	t.list = append(t.list, &message{role: role, content: parts})
	return nil
}

// assistant is the message of the model's that an item goes into, a new one where the last one
// is over.
func (t *translation) assistant(item object) *message {
	group := ""
	if _, digits, ok := strings.Cut(wire.Unquote(item.get("id")), "_"); ok && len(digits) == 2*idBytes {
		group = digits[:groupDigits]
	}
	if m := t.open; m != nil && len(m.results) == 0 && (group == "" || m.group == "" || m.group == group) {
		if m.group == "" {
			m.group = group
		}
		return m
	}
	t.open = &message{group: group}
	t.list = append(t.list, t.open)
	return t.open
}

// addAnswer translates what the model has said.
func (t *translation) addAnswer(item object, content []byte, place string) error {
	parts := parts{item: place, member: "content"}
	if err := parts.read(content, assistant); err != nil {
		return err
	}
	m := t.assistant(item)
	same := m.group != "" && strings.Contains(wire.Unquote(item.get("id")), m.group)
	if m.said && !same && len(m.calls) == 0 { // another message
		t.open = nil
		m = t.assistant(item)
	} else if m.said && !same {
		m.text = append(m.text, separator...)
	}
	m.said = m.said || parts.texts > 0
	m.text = parts.appendText(m.text, "")
	m.refusal = append(m.refusal, parts.refusal...)
	return nil
}

// addReasoning translates what the model has thought, sealed or in words.
func (t *translation) addReasoning(item object, place string) error {
	var text, thoughts []byte
	if sealed := item.get("encrypted_content"); sealed != nil {
		var ok bool
		if text, thoughts, ok = t.unseal(sealed); !ok {
			t.r.warn("item_dropped", "reasoning")
			return nil
		}
	} else {
		var err error
		if text, err = reasoningText(item, place); err != nil {
			return err
		}
	}
	if len(text) == 0 && len(thoughts) == 0 {
		return nil
	}
	m := t.assistant(item)
	if len(thoughts) > 0 && len(m.thoughts) > 0 { // twice the same member would be no JSON
		t.open = nil
		m = t.assistant(item)
	}
	m.reasoning, m.thoughts = append(m.reasoning, text...), append(m.thoughts, thoughts...)
	return nil
}

// unseal opens reasoning: its text, as it stands between quotes, and the members that belong to
// it, with a comma in front of each.
func (t *translation) unseal(sealed []byte) (text, thoughts []byte, ok bool) {
	opened, err := t.r.options.Sealer.open(wire.Unquote(sealed), t.r.options.Tenant, t.r.Model())
	if err != nil {
		return nil, nil, false
	}
	o := object(opened)
	if v := o.get("text"); isString(v) {
		text = inner(v)
	}
	for _, name := range thoughtMembers {
		if v := o.get(name); isArray(v) {
			thoughts = append(append(append(append(thoughts, `,"`...), name...), `":`...), v...)
		}
	}
	return text, thoughts, true
}

// reasoningText is reasoning in words, as it stands between quotes: what was thought, or else
// its summary, which says the same in fewer words.
func reasoningText(item object, place string) (text []byte, err error) {
	for _, list := range [...]string{"content", "summary"} {
		v := item.get(list)
		if v != nil && v[0] != '[' {
			return nil, invalid(place+"."+list, "%s.%s must be an array.", place, list)
		}
		wire.Elements(v, 0, func(_ int, at wire.Span) bool {
			if s := object(at.Of(v)).get("text"); isString(s) {
				if len(text) > 0 {
					text = append(text, separator...)
				}
				text = append(text, inner(s)...)
			}
			return true
		})
		if len(text) > 0 {
			break
		}
	}
	return text, nil
}

// addCompaction translates a summary of what was said before.
func (t *translation) addCompaction(item object, place string) error {
	opened, err := t.r.options.Sealer.open(wire.Unquote(item.get("encrypted_content")), t.r.options.Tenant, t.r.Model())
	text := object(opened).get("text")
	if err != nil || !isString(text) {
		return invalid(place+".encrypted_content", "%s.encrypted_content was not made by this gateway for this model and key, so that nobody can read it.", place)
	}
	t.leading, t.open = false, nil
	m := &message{role: user}
	m.content.addText(text)
	t.list = append(t.list, m)
	return nil
}

// addCall translates a call of a function, or of a custom tool, whose input is one argument.
func (t *translation) addCall(item object, place string, custom bool) error {
	name, id, member := item.get("name"), item.get("call_id"), "arguments"
	if custom {
		member = "input"
	}
	args := item.get(member)
	switch {
	case wire.Unquote(id) == "":
		return invalid(place+".call_id", "%s.call_id is missing: the call's result names it.", place)
	case wire.Unquote(name) == "":
		return invalid(place+".name", "%s.name is missing: name the tool.", place)
	case !isString(args):
		return invalid(place+"."+member, "%s.%s must be a string.", place, member)
	}
	if custom {
		args = wire.AppendQuoted(nil, append(append([]byte(`{"input":`), args...), '}'))
	}
	if space := wire.Unquote(item.get("namespace")); space != "" {
		name = wire.AppendQuoted(nil, flat(space, wire.Unquote(name)))
	}
	m := t.assistant(item)
	m.calls = append(m.calls, chatCall{id, name, args})
	t.calls[wire.Unquote(id)] = m
	return nil
}

// addResult translates the result of a call. It stands behind the message with the call,
// wherever it came.
func (t *translation) addResult(item object, place string) error {
	id, output := item.get("call_id"), item.get("output")
	m := t.calls[wire.Unquote(id)]
	switch {
	case wire.Unquote(id) == "":
		return invalid(place+".call_id", "%s.call_id is missing: it names the call that this is the result of.", place)
	case m == nil:
		return invalid(place+".call_id", "%s.call_id names the call %s, which is nowhere in front of it: send the call too.", place, gateway.Excerpt(id))
	case output == nil || output[0] != '"' && output[0] != '[':
		return invalid(place+".output", "%s.output must be a string or an array of parts.", place)
	}
	r := result{id, parts{item: place, member: "output"}}
	if err := r.content.read(output, "tool"); err != nil {
		return err
	}
	m.results = append(m.results, r)
	return nil
}

// appendTo appends the messages, with commas between them.
func (t *translation) appendTo(b []byte) []byte {
	start := len(b)
	if t.system != nil {
		b = append(append(append(b, `{"role":"system","content":"`...), t.system...), `"}`...)
	}
	for _, m := range t.list {
		if len(b) > start {
			b = append(b, ',')
		}
		b = m.appendResults(m.appendTo(b))
	}
	return b
}

// appendResults appends the results of a message's calls, and behind them what the messages of
// tools cannot hold.
func (m *message) appendResults(b []byte) []byte {
	others := 0
	for i := range m.results {
		r := &m.results[i]
		others += r.content.others()
		b = append(append(append(b, `,{"role":"tool","tool_call_id":`...), r.id...), `,"content":"`...)
		b = append(r.content.appendText(b, separator), `"}`...)
	}
	if others == 0 {
		return b
	}
	b = append(b, `,{"role":"user","content":[`...)
	for i := range m.results {
		r := &m.results[i]
		if r.content.others() == 0 {
			continue
		}
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = appendText(append(b, `{"type":"text","text":`...), fmt.Sprintf("What the tool call %s gave besides text:", wire.Unquote(r.id)))
		b = r.content.appendParts(b, false)
	}
	return append(b, "]}"...)
}

func (m *message) appendTo(b []byte) []byte {
	if m.role != "" {
		b = append(append(append(b, `{"role":"`...), m.role...), `","content":`...)
		return append(m.content.appendContent(b, m.role), '}')
	}
	b = append(b, `{"role":"assistant"`...)
	if len(m.reasoning) > 0 {
		b = append(append(append(b, `,"reasoning_content":"`...), m.reasoning...), '"')
	}
	b = append(b, m.thoughts...)
	switch {
	case m.said:
		b = append(append(append(b, `,"content":"`...), m.text...), '"')
	case len(m.calls) > 0 || len(m.refusal) > 0:
		b = append(b, `,"content":null`...)
	default:
		b = append(b, `,"content":""`...)
	}
	if len(m.refusal) > 0 {
		b = append(append(append(b, `,"refusal":"`...), m.refusal...), '"')
	}
	for i, c := range m.calls {
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"id":`...), c.id...), `,"type":"function","function":{"name":`...)
		b = append(append(append(append(b, c.name...), `,"arguments":`...), c.args...), "}}"...)
	}
	if len(m.calls) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}
