package openaijson

import (
	"bytes"

	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
)

// reader reads an object that is known to be strict JSON.
type reader struct {
	json    *relaxed.Reader
	text    []byte // what json has not read yet
	content []byte
	calls   []*callobject.Reader
}

// read reads the members of the object. It reports false if they are no calls, or
// hold text that would be lost.
func (r *reader) read() bool {
	if r.next() != relaxed.ObjectOpen {
		return false
	}
	for r.next() == relaxed.Key {
		key := string(r.json.Key())
		kind, value := r.value()
		if !r.member(key, kind, value) {
			return false
		}
	}
	return len(r.calls) > 0
}

// next reads one token.
func (r *reader) next() relaxed.Token {
	n, tok := r.json.Feed(r.text)
	r.text = r.text[n:]
	return tok
}

// value reads the whole value of a member; kind is its first token.
func (r *reader) value() (kind relaxed.Token, value []byte) {
	r.json.Out = r.json.Out[:0]
	depth := r.json.Depth()
	if kind = r.next(); r.json.Depth() > depth {
		n, _ := r.json.FeedTo(r.text, depth)
		r.text = r.text[n:]
	}
	return kind, chars.SkipSpace(r.json.Out)
}

func (r *reader) member(key string, kind relaxed.Token, value []byte) bool {
	switch key {
	case "tool_calls":
		return kind == relaxed.ArrayOpen && r.list(value)
	case "tool_call":
		return kind == relaxed.ObjectOpen && r.call(value) > 0
	case "role", "refusal":
		return true
	case "content":
		if kind == relaxed.String {
			text, _ := relaxed.Unquote(value)
			r.content = append(r.content, text...)
			return true
		}
	}
	return kind == relaxed.Null
}

// list reads an array of calls. That it is valid JSON is known.
func (r *reader) list(array []byte) bool {
	rest := array[1 : len(array)-1]
	for {
		rest = bytes.TrimLeft(rest, " \t\r\n,")
		if len(rest) == 0 {
			return true
		}
		n := r.call(rest)
		if n == 0 {
			return false
		}
		rest = rest[n:]
	}
}

// call reads the call that b begins with and gives its length, or 0.
func (r *reader) call(b []byte) int {
	if b[0] != '{' {
		return 0
	}
	keys := callobject.Hermes()
	keys.Only = true
	c := callobject.New(keys, r.json.MaxDepth())
	at, status := 0, callobject.More
	for status == callobject.More {
		var n int
		n, status = c.Feed(b[at:])
		at += n
	}
	if status == callobject.Bad {
		return 0
	}
	r.calls = append(r.calls, c)
	return at
}
