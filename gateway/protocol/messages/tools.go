package messages

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// setTools sets tools, tool_choice and parallel_tool_calls.
func (r *reader) setTools() error {
	list := r.top["tools"]
	if list != nil && !isArray(list) {
		return invalid("tools", "The field \"tools\" must be an array, not %s.", gateway.Excerpt(list))
	}
	r.tools = map[string]bool{}
	from := len(r.out)
	r.out = append(wire.AppendKey(r.out, "tools"), '[')
	err := elements(list, func(i int, v value) error { return r.tool(i, v) })
	r.writeServers()
	if len(r.tools)+len(r.servers) > 0 {
		r.out = append(r.out, ']')
	} else {
		r.out = r.out[:from]
	}
	if err != nil {
		return err
	}
	return r.setChoice()
}

// tool writes a tool as a function, but for one that Anthropic's own servers run.
func (r *reader) tool(i int, v value) error {
	place := "tools[" + strconv.Itoa(i) + "]"
	if !isObject(v) {
		return invalid(place, "%s must be an object.", place)
	}
	m := fields(v)
	kind := text(m["type"])
	switch kind {
	case "", "custom":
		return r.custom(place, m)
	case "mcp_toolset":
		return r.toolset(place, m)
	}
	if isServerRun(kind) {
		r.dropped("tools." + kind)
		return nil
	}
	for _, known := range clientRun {
		if strings.HasPrefix(kind, known.prefix) {
			name := m["name"]
			if len(inner(name)) == 0 {
				name = wire.AppendQuoted(nil, known.name)
			}
			r.function(name, wire.AppendQuoted(nil, known.description), value(known.schema), nil)
			return nil
		}
	}
	if isObject(m["input_schema"]) { // a type of which nobody knows here, with all that a function needs
		return r.custom(place, m)
	}
	r.needsOwn(invalid(place+".type", "%s has the type %q, which this model's API does not have.", place, gateway.ExcerptOf(kind, 40)))
	r.dropped("tools.other")
	return nil
}

func (r *reader) custom(place string, m map[string]value) error {
	name, schema := m["name"], m["input_schema"]
	switch {
	case text(name) == "":
		return invalid(place+".name", "%s.name is missing.", place)
	case schema == nil:
		return invalid(place+".input_schema", "%s.input_schema is missing: it must be a JSON schema of an object.", place)
	case !isObject(schema):
		return invalid(place+".input_schema", "%s.input_schema must be a JSON schema of an object, not %s.", place, gateway.Excerpt(schema))
	}
	r.function(name, m["description"], schema, m["strict"])
	return nil
}

// function writes a tool of a chat completion.
func (r *reader) function(name, description, schema, strict value) {
	if r.out[len(r.out)-1] != '[' {
		r.out = append(r.out, ',')
	}
	r.tools[text(name)] = true
	b := r.out
	b = append(append(b, `{"type":"function","function":{"name":`...), name...)
	if isString(description) {
		b = append(append(b, `,"description":`...), description...)
	}
	b = append(append(b, `,"parameters":`...), schema...)
	if string(strict) == "true" {
		b = append(b, `,"strict":true`...)
	}
	b = append(b, "}}"...)
	r.out = b
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

// setChoice sets tool_choice.
func (r *reader) setChoice() error {
	choice := r.top["tool_choice"]
	if choice == nil {
		return nil
	}
	if !isObject(choice) {
		return invalid("tool_choice", "The field \"tool_choice\" must be an object with a type, not %s.", gateway.Excerpt(choice))
	}
	word, name := "", find(choice, "name")
	switch kind := text(find(choice, "type")); kind {
	case "auto", "none":
		word = kind
	case "any":
		word = "required"
	case "tool":
		if text(name) == "" {
			return invalid("tool_choice.name", "The field \"tool_choice\" has the type tool and must name one.")
		}
		if !r.tools[text(name)] && len(r.tools) > 0 && len(r.servers) == 0 {
			return invalid("tool_choice.name", "The field \"tool_choice\" names %s, which is not among the tools.", gateway.Excerpt(name))
		}
	default:
		return invalid("tool_choice.type", "The field \"tool_choice\" must have the type auto, any, tool or none, not %q.", gateway.ExcerptOf(kind, 40))
	}
	if len(r.tools)+len(r.servers) == 0 { // upstreams refuse a choice among nothing
		if word != "auto" && word != "none" {
			r.dropped("tool_choice")
		}
		return nil
	}
	if word == "" {
		r.set("tool_choice", slices.Concat(value(`{"type":"function","function":{"name":`), name, value("}}")))
	} else {
		r.set("tool_choice", wire.AppendQuoted(nil, word))
	}
	if string(find(choice, "disable_parallel_tool_use")) == "true" {
		r.set("parallel_tool_calls", value("false"))
	}
	return nil
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
