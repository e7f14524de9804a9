package messages

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// toolbox writes the tools that a request offers.
type toolbox struct {
	serves  bool // the gateway runs tools of servers of its own
	remarks *remarks
	names   map[string]bool // of those that are written
	servers []server
	out     []byte
}

// appendTo appends the members tools, tool_choice and parallel_tool_calls. added are tools that messages add.
func (t *toolbox) appendTo(b []byte, tools, choice value, added []addition) ([]byte, error) {
	if tools != nil && !isArray(tools) {
		return nil, invalid("tools", "The field \"tools\" must be an array, not %s.", gateway.Excerpt(tools))
	}
	t.names = map[string]bool{}
	from := len(b)
	t.out = append(wire.AppendKey(b, "tools"), '[')
	err := elements(tools, func(i int, v value) error { return t.tool("tools["+strconv.Itoa(i)+"]", v) })
	if err != nil {
		return nil, err
	}
	for _, a := range added {
		if t.names[text(find(a.tool, "name"))] {
			t.remarks.dropped("messages.tool_addition")
			continue
		}
		if err := t.tool(a.place, a.tool); err != nil {
			return nil, err
		}
	}
	t.writeServers()
	if len(t.names)+len(t.servers) > 0 {
		t.out = append(t.out, ']')
	} else {
		t.out = t.out[:from]
	}
	return t.appendChoice(t.out, choice)
}

// tool writes a tool as a function, but for one that Anthropic's own servers run.
func (t *toolbox) tool(place string, v value) error {
	if !isObject(v) {
		return invalid(place, "%s must be an object.", place)
	}
	m := fields(v)
	kind := text(m["type"])
	switch kind {
	case "", "custom":
		return t.custom(place, v, m)
	case "mcp_toolset":
		t.remarks.leftover("tools.", v, knownToolset)
		return t.toolset(place, m)
	}
	if isServerRun(kind) {
		t.remarks.hosted.Add(kind)
		t.remarks.dropped("tools." + kind)
		return nil
	}
	for _, known := range clientRun {
		if strings.HasPrefix(kind, known.prefix) {
			name := m["name"]
			if len(inner(name)) == 0 {
				name = wire.AppendQuoted(nil, known.name)
			}
			t.remarks.leftover("tools.", v, knownTypedTool)
			t.function(name, wire.AppendQuoted(nil, known.description), value(known.schema), nil)
			return nil
		}
	}
	if isObject(m["input_schema"]) { // a type of which nobody knows here, with all that a function needs
		return t.custom(place, v, m)
	}
	t.remarks.needsOwn(invalid(place+".type", "%s has the type %q, which this model's API does not have.", place, gateway.ExcerptOf(kind, 40)))
	t.remarks.hosted.Add(kind)
	t.remarks.dropped("tools.other")
	return nil
}

func (t *toolbox) custom(place string, tool value, m map[string]value) error {
	name, schema := m["name"], m["input_schema"]
	switch {
	case text(name) == "":
		return invalid(place+".name", "%s.name is missing.", place)
	case schema == nil:
		return invalid(place+".input_schema", "%s.input_schema is missing: it must be a JSON schema of an object.", place)
	case !isObject(schema):
		return invalid(place+".input_schema", "%s.input_schema must be a JSON schema of an object, not %s.", place, gateway.Excerpt(schema))
	}
	t.remarks.leftover("tools.", tool, knownTool)
	t.function(name, m["description"], schema, m["strict"])
	return nil
}

// function writes a tool of a chat completion.
func (t *toolbox) function(name, description, schema, strict value) {
	if t.out[len(t.out)-1] != '[' {
		t.out = append(t.out, ',')
	}
	t.names[text(name)] = true
	b := t.out
	b = append(append(b, `{"type":"function","function":{"name":`...), name...)
	if isString(description) {
		b = append(append(b, `,"description":`...), description...)
	}
	b = append(append(b, `,"parameters":`...), schema...)
	if string(strict) == "true" {
		b = append(b, `,"strict":true`...)
	}
	b = append(b, "}}"...)
	t.out = b
}

// isServerRun reports whether Anthropic's servers run a tool of a type. There is nobody to
// run it for another model.
func isServerRun(kind string) bool {
	for _, prefix := range [...]string{"web_search_", "web_fetch_", "code_execution_", "tool_search_"} {
		if strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return false
}

// appendChoice appends tool_choice, and whether there may be several calls.
func (t *toolbox) appendChoice(b []byte, choice value) ([]byte, error) {
	if choice == nil {
		return b, nil
	}
	if !isObject(choice) {
		return nil, invalid("tool_choice", "The field \"tool_choice\" must be an object with a type, not %s.", gateway.Excerpt(choice))
	}
	t.remarks.leftover("tool_choice.", choice, knownChoice)
	word, name := "", find(choice, "name")
	switch kind := text(find(choice, "type")); kind {
	case "auto", "none":
		word = kind
	case "any":
		word = "required"
	case "tool":
		if text(name) == "" {
			return nil, invalid("tool_choice.name", "The field \"tool_choice\" has the type tool and must name one.")
		}
		if !t.names[text(name)] && len(t.names) > 0 && len(t.servers) == 0 {
			return nil, invalid("tool_choice.name", "The field \"tool_choice\" names %s, which is not among the tools.", gateway.Excerpt(name))
		}
	default:
		return nil, invalid("tool_choice.type", "The field \"tool_choice\" must have the type auto, any, tool or none, not %q.", gateway.ExcerptOf(kind, 40))
	}
	if len(t.names)+len(t.servers) == 0 { // upstreams refuse a choice among nothing
		if word != "auto" && word != "none" {
			t.remarks.dropped("tool_choice")
		}
		return b, nil
	}
	if word == "" {
		b = appendField(b, "tool_choice", slices.Concat(value(`{"type":"function","function":{"name":`), name, value("}}")))
	} else {
		b = appendField(b, "tool_choice", wire.AppendQuoted(nil, word))
	}
	if string(find(choice, "disable_parallel_tool_use")) == "true" {
		b = appendField(b, "parallel_tool_calls", value("false"))
	}
	return b, nil
}

// clientRun are the tools that Anthropic's models know by their type, and that the client
// runs. Other models are told what they take.
var clientRun = []struct{ prefix, name, description, schema string }{
	{"bash_", "bash", "Runs a command in a persistent bash session, and returns what it prints. With restart the session begins anew.",
		`{"type":"object","properties":{"command":{"type":"string","description":"The command to run; required unless restart is true."},` +
			`"restart":{"type":"boolean","description":"Begin a new session."}}}`},
	{"text_editor_20241022", "str_replace_editor", editorText + undoText, editorUndoSchema},
	{"text_editor_20250124", "str_replace_editor", editorText + undoText, editorUndoSchema},
	{"text_editor_", "str_replace_based_edit_tool", editorText, editorSchema},
	{"memory_", "memory", "Views, creates, edits, renames and deletes files below /memories, which outlast the conversation.",
		`{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"]},` +
			`"path":{"type":"string","description":"A path below /memories."},` +
			`"view_range":{"type":"array","items":{"type":"integer"},"description":"For view: the first and the last line."},` +
			`"file_text":{"type":"string","description":"For create: the content of the file."},` +
			`"old_str":{"type":"string","description":"For str_replace: the text to replace, which must occur once."},` +
			`"new_str":{"type":"string","description":"For str_replace: the new text."},` +
			`"insert_line":{"type":"integer","description":"For insert: the line behind which the text goes; 0 is the beginning."},` +
			`"insert_text":{"type":"string","description":"For insert: the text."},` +
			`"old_path":{"type":"string","description":"For rename."},"new_path":{"type":"string","description":"For rename."}},"required":["command"]}`},
	{"computer_", "computer", "Uses a computer's screen, mouse and keyboard. Take a screenshot first, and after each step.",
		`{"type":"object","properties":{"action":{"type":"string","enum":["screenshot","left_click","right_click","middle_click","double_click","triple_click",` +
			`"left_click_drag","left_mouse_down","left_mouse_up","mouse_move","cursor_position","type","key","hold_key","scroll","wait","zoom"]},` +
			`"coordinate":{"type":"array","items":{"type":"integer"},"description":"x and y in pixels."},` +
			`"start_coordinate":{"type":"array","items":{"type":"integer"},"description":"For left_click_drag."},` +
			`"text":{"type":"string","description":"For type, key and hold_key."},"duration":{"type":"number","description":"Seconds, for wait and hold_key."},` +
			`"scroll_direction":{"type":"string","enum":["up","down","left","right"]},"scroll_amount":{"type":"integer"},` +
			`"region":{"type":"array","items":{"type":"integer"},"description":"For zoom: x0, y0, x1, y1."}},"required":["action"]}`},
}

const (
	editorText = "Views, creates and edits files. str_replace replaces a text that must occur exactly once."
	undoText   = " undo_edit takes the last edit of a file back."

	editorMembers = `"path":{"type":"string","description":"The file or directory."},` +
		`"view_range":{"type":"array","items":{"type":"integer"},"description":"For view: the first and the last line; -1 is the end."},` +
		`"file_text":{"type":"string","description":"For create: the content of the file."},` +
		`"old_str":{"type":"string","description":"For str_replace: the text to replace."},` +
		`"new_str":{"type":"string","description":"For str_replace: the new text."},` +
		`"insert_line":{"type":"integer","description":"For insert: the line behind which the text goes; 0 is the beginning."},` +
		`"insert_text":{"type":"string","description":"For insert: the text."}},"required":["command","path"]}`
	editorSchema     = `{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert"]},` + editorMembers
	editorUndoSchema = `{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert","undo_edit"]},` + editorMembers
)
