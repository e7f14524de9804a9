package heuristic

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// arrows reads a call in another notation:
//
//	{tool => "get_weather", args => {--city "Oslo" --days 3}}
//
// The values are JSON.
type arrows struct {
	tools []sdk.Tool
	tool  *sdk.Tool
	call  call
	check checker
	late  bool // the name had not come when the arguments began
	seen  field

	expect expect
	inner  bool // in the arguments
	word   []byte
	keys   []string
	json   *relaxed.Reader
	nested reader // arguments that are JSON
}

// expect is what comes next.
type expect uint8

const (
	openBrace expect = iota
	anyKey           // or the closing brace
	restOfKey
	arrow     // what is between key and value
	arrowTail // the rest of =>
	anyValue
	argsBrace // the first byte of the arguments
	jsonArgs  // the rest of arguments that are JSON
)

func newArrows(tools []sdk.Tool, json *relaxed.Reader) *arrows {
	return &arrows{tools: tools, json: json}
}

// step reads some of src.
func (a *arrows) step(src []byte) (int, status) {
	switch a.expect {
	case anyValue:
		return a.readValue(src)
	case jsonArgs:
		n, s := a.nested.step(src)
		if s == done {
			c := a.nested.result()[0]
			a.call.Args, a.call.Repaired = c.Args, c.Repaired
			a.inner, a.expect, s = false, anyKey, next
		}
		return n, s
	default:
		return 1, a.read(src[0])
	}
}

func (a *arrows) readValue(src []byte) (n int, s status) {
	var tok relaxed.Token
	if a.json.Depth() > 0 {
		n, tok = a.json.FeedTo(src, 0)
	} else {
		n, tok = a.json.Feed(src)
	}
	switch {
	case tok == relaxed.Bad:
		return n, bad
	case tok == relaxed.More, a.json.Depth() > 0:
		return n, more
	}
	return n, a.value(tok)
}

// read reads a byte that is not part of a value.
func (a *arrows) read(c byte) status {
	switch {
	case a.expect == restOfKey && isNameByte(c):
		if a.word = append(a.word, c); len(a.word) > maxName {
			return bad
		}
		return next
	case a.expect == restOfKey && len(a.word) == 0:
		return bad
	case a.expect == restOfKey:
		a.expect = arrow
	}
	if chars.IsSpace(c) && a.expect != arrowTail {
		return next
	}
	switch a.expect {
	case openBrace:
		a.expect = anyKey
		return good(c == '{')
	case anyKey:
		return a.key(c)
	case arrow:
		return a.arrow(c)
	case arrowTail:
		if c != '>' {
			return bad
		}
		return a.begin()
	case argsBrace:
		return a.args(c)
	default:
		return bad
	}
}

// key reads the first byte of a key, or the end of the object.
func (a *arrows) key(c byte) status {
	switch {
	case c == '}' && a.inner:
		a.inner = false
		a.call.Args = append(a.call.Args, '}')
		return good(a.late || a.check.end())
	case c == '}':
		return a.end()
	case c == ',':
		return next
	case c == '"' && a.inner && len(a.keys) == 0 && !a.late:
		return a.jsonArguments()
	case !isLetter(c) && (c != '-' || !a.inner):
		return bad
	}
	a.word, a.expect = append(a.word[:0], c), restOfKey
	return next
}

// jsonArguments goes on with arguments that are JSON after all.
func (a *arrows) jsonArguments() status {
	a.nested = newArgs(a.call.Name, a.tool, relaxed.NewReader(a.json.MaxDepth()))
	a.expect = jsonArgs
	for _, c := range [...]byte{'{', '"'} {
		if _, s := a.nested.step([]byte{c}); s == bad {
			return bad
		}
	}
	return next
}

// arrow reads what is behind a key: => or, in the arguments, nothing.
func (a *arrows) arrow(c byte) status {
	switch {
	case c == '=':
		a.expect = arrowTail
		return next
	case a.inner && bytes.HasPrefix(a.word, []byte("--")):
		if s := a.begin(); s == bad {
			return bad
		}
		_, s := a.step([]byte{c})
		return s
	}
	return bad
}

// begin begins the value of the key that was read.
func (a *arrows) begin() status {
	a.json.Reset()
	a.expect = anyValue
	if a.inner {
		return a.argument(string(bytes.TrimPrefix(a.word, []byte("--"))))
	}
	f := fieldOf(a.word)
	if f != fieldName && f != fieldArgs || a.seen&f != 0 {
		return bad
	}
	if a.seen |= f; f == fieldArgs {
		a.expect = argsBrace
	}
	return next
}

// argument begins the argument called key.
func (a *arrows) argument(key string) status {
	if key == "" || len(a.keys) == maxName || slices.Contains(a.keys, key) {
		return bad
	}
	if len(a.keys) > 0 {
		a.call.Args = append(a.call.Args, ", "...)
	}
	a.keys = append(a.keys, key)
	a.call.Args = append(relaxed.AppendString(a.call.Args, []byte(key)), ": "...)
	return good(a.late || a.check.key([]byte(key)))
}

// value takes the value that was read.
func (a *arrows) value(tok relaxed.Token) status {
	text := chars.SkipSpace(a.json.Out)
	a.expect = anyKey
	a.call.Repaired = a.call.Repaired || a.json.Repaired() != 0 && a.inner
	switch {
	case a.inner:
		a.call.Args = append(a.call.Args, text...)
		return good(a.late || tok != relaxed.String || a.check.text(text))
	case tok != relaxed.String:
		return bad
	}
	name, _ := relaxed.Unquote(text)
	if !isName(name) {
		return bad
	}
	a.call.Name = string(name)
	a.tool = sdk.FindTool(a.tools, a.call.Name)
	return good(a.tool != nil || len(a.tools) == 0)
}

// args begins the arguments.
func (a *arrows) args(c byte) status {
	a.late = a.call.Name == "" && len(a.tools) > 0
	a.check = checker{tool: a.tool}
	a.call.Args = append(a.call.Args, '{')
	a.inner, a.expect = true, anyKey
	return good(c == '{')
}

func (a *arrows) end() status {
	if a.call.Name == "" {
		return bad
	}
	if a.seen&fieldArgs == 0 {
		a.call.Args = []byte("{}")
	}
	if a.late && !checkArgs(a.call.Args, a.call.Name, a.tool, a.json.MaxDepth()) {
		return bad
	}
	return done
}
