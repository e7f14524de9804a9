package heuristic

import (
	"slices"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// field is a member that a call has, or the object around it. As a set it says which
// ones have come.
type field uint8

const (
	fieldName field = 1 << iota
	fieldArgs
	fieldID
	fieldType
	fieldFunction
	fieldCalls   // of the object around: an array of calls
	fieldCall    // a call
	fieldMessage // role or content, as in a message of OpenAI's API
	noField      = field(0)
	allFields    = ^field(0)
)

// short reports whether the value is a word, or begins with a bracket.
func (f field) short() bool { return f != fieldArgs }

// fieldOf is the member of a call that key names.
func fieldOf(key []byte) field {
	switch string(key) {
	case "name", "tool", "tool_name":
		return fieldName
	case "arguments", "parameters", "args":
		return fieldArgs
	case "id", "tool_call_id", "call_id":
		return fieldID
	case "type":
		return fieldType
	case "function":
		return fieldFunction
	}
	return noField
}

// looseFieldOf is the member of a call that key names where a model writes from memory.
func looseFieldOf(key []byte) field {
	switch string(key) {
	case "action":
		return fieldName
	case "params", "input", "action_input":
		return fieldArgs
	}
	return noField
}

// content reads the text of a message, which is a call and nothing else.
func (r *reader) content(quoted []byte) status {
	text, _ := relaxed.Unquote(quoted)
	inner := newReader(r.forms&^loose, r.tools, relaxed.NewReader(r.json.MaxDepth()))
	for text = chars.TrimSpace(text); len(text) > 0; {
		n, s := inner.step(text)
		text = text[n:]
		if s == bad || s == done && len(text) > 0 {
			return bad
		}
		if s == done {
			r.calls = append(r.calls, inner.result()...)
			for i := range r.calls {
				r.calls[i].Form = formContent
			}
			return r.fit()
		}
	}
	return bad
}

// outerOf is the member that key names of an object that holds calls.
func outerOf(key []byte) field {
	switch string(key) {
	case "tool_calls":
		return fieldCalls
	case "tool_call", "function_call":
		return fieldCall
	case "role", "content":
		return fieldMessage
	}
	return noField
}

// member begins the value of the member called key.
func (r *reader) member(key []byte) status {
	r.json.Out = r.json.Out[:0]
	first := r.place == inCall && r.seen == 0 && r.json.Depth() == 1
	if first && r.forms&wrapped != 0 && outerOf(key) != noField {
		r.place, r.wrap = inWrapper, true
	}
	f := r.fieldOf(key)
	switch {
	case r.place == inWrapper:
		f = outerOf(key)
	case first && f == noField && r.forms&named != 0:
		return r.nameAsKey(string(key))
	case r.place == inFunction && f != fieldName && f != fieldArgs, r.seen&f != 0:
		return bad
	default:
		r.seen |= f
	}
	r.field, r.back, r.place = f, r.place, inValue
	return good(f != noField)
}

// fieldOf is the member of a call that key names. One of a looser name is noted.
func (r *reader) fieldOf(key []byte) field {
	f := fieldOf(key)
	if f == noField && r.forms&loose != 0 && r.place == inCall && len(r.tools) > 0 {
		if f = looseFieldOf(key); f != noField {
			r.cur.Form = formKeys
		}
	}
	return f
}

// nameAsKey begins the arguments of a call whose only key is the tool's name.
func (r *reader) nameAsKey(name string) status {
	if r.tool = sdk.FindTool(r.tools, name); r.tool == nil {
		return bad
	}
	r.cur.Name, r.seen, r.cur.Form = name, allFields, formNamed
	r.field, r.back, r.place = noField, inCall, inValue
	return next
}

// value reads the first token of a member's value.
func (r *reader) value(tok relaxed.Token) status {
	text := r.text(0)
	r.place = r.back
	switch r.field {
	case fieldName:
		return r.name(tok, text)
	case fieldFunction:
		if tok == relaxed.ObjectOpen {
			r.place = inFunction
			return next
		}
		if r.seen&fieldName != 0 {
			return bad
		}
		r.seen |= fieldName
		return r.name(tok, text)
	case fieldArgs:
		return r.args(tok, text)
	case noField:
		if tok == relaxed.ObjectOpen {
			return r.beginArgs(true)
		}
		return bad
	case fieldCalls:
		if tok == relaxed.ArrayOpen {
			return r.beginList()
		}
		return bad
	case fieldCall:
		if tok == relaxed.ObjectOpen {
			return r.beginCall()
		}
		return r.nameInPlace(tok, text)
	default:
		return r.word(tok, text)
	}
}

// nameInPlace reads a name in the place of a call, whose arguments stand beside it.
func (r *reader) nameInPlace(tok relaxed.Token, text []byte) status {
	if tok != relaxed.String || r.forms&loose == 0 || len(r.calls) > 0 || r.list {
		return bad
	}
	r.beginCall()
	r.wrap, r.seen, r.cur.Form = false, fieldName, formKeys
	return r.name(tok, text)
}

// types are what a member "type" of a call says.
var types = []string{`"function"`, `"tool_call"`, `"function_call"`, `"tool_use"`, `"tool"`}

// word reads a member that says little.
func (r *reader) word(tok relaxed.Token, text []byte) status {
	switch {
	case r.field == fieldType:
		return good(slices.Contains(types, string(text)))
	case r.field == fieldMessage && r.forms&loose != 0 && tok == relaxed.String && len(r.calls) == 0 && (text[1] == '{' || text[1] == '['):
		return r.content(text)
	case r.field == fieldMessage:
		return good(tok == relaxed.Null || slices.Contains([]string{`"assistant"`, `""`}, string(text)))
	case tok == relaxed.Null, tok == relaxed.Number && r.wrap:
		return next
	case tok != relaxed.String:
		return bad
	}
	id, _ := relaxed.Unquote(text)
	if len(id) > maxName {
		return bad
	}
	r.cur.ID = string(chars.TrimSpace(id))
	return next
}

// name reads the name of a call, which must be that of an offered tool.
func (r *reader) name(tok relaxed.Token, text []byte) status {
	if tok != relaxed.String {
		return bad
	}
	name, _ := relaxed.Unquote(text)
	if !isName(name) {
		return bad
	}
	r.cur.Name = string(name)
	r.tool = sdk.FindTool(r.tools, r.cur.Name)
	return good(r.tool != nil || len(r.tools) == 0)
}

// isName tells what may be a name.
func isName(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c == 0x7f {
			return false
		}
	}
	return len(b) > 0 && len(b) <= maxName
}

// args reads the first token of the arguments.
func (r *reader) args(tok relaxed.Token, text []byte) status {
	switch tok {
	case relaxed.ObjectOpen:
		return r.beginArgs(false)
	case relaxed.Null:
		r.cur.Args = []byte("{}")
		return next
	case relaxed.String:
		return r.argsString(text)
	default:
		return bad
	}
}

// argsString decodes arguments that were written as a string, once.
func (r *reader) argsString(text []byte) status {
	decoded, _ := relaxed.Unquote(text)
	ok := r.cur.Decode(decoded, r.json.MaxDepth())
	r.json.Out = r.json.Out[:0]
	r.late = r.late || r.cur.Decoded
	return good(ok)
}
