package responses

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/wire"
)

// translation makes messages of items. What the model has said in one turn, which Responses
// has several items for, is one message.
type translation struct {
	tools    *toolReader
	vault    vault
	remarks  *remarks
	system   []byte // what stands between the quotes of the first message's text
	leading  bool   // nothing but instructions has come yet
	list     []*message
	open     *message            // the model's, that the next of its items goes into
	calls    map[string]*message // by the id of the call
	extras   protocol.Extras     // of calls that follow
	ownTools ownTools
}

// ownTools is what a history has of the tools that this gateway runs.
type ownTools struct {
	listed map[string]bool // servers whose tools it has listed
	ran    bool            // it has calls that this gateway has made
}

func (t *translation) addSystem(text []byte) {
	if len(t.system) == 0 { // a part of the client's body, until more follows
		if t.system = slices.Clip(text); text == nil {
			t.system = []byte{}
		}
		return
	}
	if len(text) > 0 {
		t.system = append(t.system, separator...)
	}
	t.system = append(t.system, text...)
}

// itemType is what an item is; a message and a reference need not say it.
func itemType(item object) string {
	if v := item.get("type"); v != nil {
		return wire.Unquote(v)
	}
	return UntypedItem(item.get("role") != nil, item.get("id") != nil)
}

// UntypedItem is the type of an item that does not say it: a message has a role, and a reference an id. "" is for none.
func UntypedItem(role, id bool) string {
	switch {
	case role:
		return "message"
	case id:
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
	"tool_search_call": true, "tool_search_output": true,
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
		t.remarks.leftover("input.", item, knownAdditional)
		return t.tools.read(item.get("tools"), place+".tools")
	case mcpList, mcpCall, mcpRequest, mcpResponse:
		return t.addRan(item, kind, place)
	case "compaction":
		return t.addCompaction(item, place)
	case "item_reference":
		return invalid(place, "%s refers to the stored item %s, which there is none of: send the item itself.", place, gateway.Excerpt(item.get("id")))
	case "":
		return invalid(place+".type", "%s has no type: a message has \"role\" and \"content\", other items say their type.", place)
	}
	if !unusable[kind] {
		t.remarks.needsOwn(invalid(place+".type", "%s has the type %q, which this gateway does not know.", place, gateway.ExcerptOf(kind, 40)))
		return nil
	}
	t.remarks.warn("item_dropped", kind)
	return nil
}

// addMessage translates a message of any role.
func (t *translation) addMessage(item object, place string) error {
	t.remarks.leftover("input.", item, knownMessage)
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
	parts := parts{item: place, member: "content", remarks: t.remarks}
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
	if _, digits, ok := strings.Cut(wire.Unquote(item.get("id")), "_"); ok && isItemOfOurs(digits) { // those of others say nothing of it
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
	parts := parts{item: place, member: "content", remarks: t.remarks}
	if err := parts.read(content, assistant); err != nil {
		return err
	}
	m := t.assistant(item)
	same := m.isOf(item)
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

// addCall translates a call of a function, or of a custom tool, whose input is one argument.
func (t *translation) addCall(item object, place string, custom bool) error {
	t.remarks.leftover("input.", item, knownCall)
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
		name = wire.AppendQuoted(nil, t.tools.set.known(space, wire.Unquote(name)))
	}
	t.call(item, wire.Unquote(id), chatCall{id: id, name: name, args: args})
	return nil
}

// addResult translates the result of a call. It stands behind the message with the call,
// wherever it came.
func (t *translation) addResult(item object, place string) error {
	t.remarks.leftover("input.", item, knownResult)
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
	r := result{id, parts{item: place, member: "output", remarks: t.remarks}}
	if err := r.content.read(output, "tool"); err != nil {
		return err
	}
	m.results = append(m.results, r)
	return nil
}
