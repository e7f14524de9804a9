package anthropic

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/wire"
)

// value is the JSON of one value, a part of the text that it was found in. Requests
// are validated before they come here, so that reading them is only a search for
// ends: an image of some megabytes is neither copied nor read letter by letter. What
// is not valid gives some other value, and never a panic.
type value = jsontext.Value

// members calls f with the members of an object, until f returns an error. A value
// that is no object has none. Names are compared as they are meant, without their
// escapes, and with their case.
func members(object value, f func(name string, v value) error) (err error) {
	wire.Members(object, 0, func(key []byte, at wire.Span) bool {
		err = f(memberName(key), part(object, at))
		return err == nil
	})
	return err
}

// elements calls f with the elements of an array, until f returns an error. A value
// that is no array has none.
func elements(array value, f func(i int, v value) error) (err error) {
	wire.Elements(array, 0, func(i int, at wire.Span) bool {
		err = f(i, part(array, at))
		return err == nil
	})
	return err
}

// get is the member of an object with a name, nil if there is none or if it is null.
// It is for those who want few; of several the last one counts, as in fields.
func get(object value, want string) (found value) {
	wire.Members(object, 0, func(key []byte, at wire.Span) bool {
		if string(key) == want || bytes.IndexByte(key, '\\') >= 0 && memberName(key) == want {
			found = part(object, at)
		}
		return true
	})
	if absent(found) {
		return nil
	}
	return found
}

// part is a part of a value, which can be appended to without writing into the rest.
func part(v value, at wire.Span) value { return v[at.Start:at.End:at.End] }

// memberName is a member's name, by what stands between its quotes.
func memberName(key []byte) string {
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key)
	}
	return text(slices.Concat([]byte{'"'}, key, []byte{'"'}))
}

// fields are the members of an object that are not null.
func fields(object value) map[string]value {
	m := map[string]value{}
	_ = members(object, func(name string, v value) error {
		if !absent(v) {
			m[name] = v
		}
		return nil
	})
	return m
}

// text is a string's content; empty if v is no string.
func text(v value) string {
	if !isString(v) {
		return ""
	}
	if inner := v[1 : len(v)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	return string(unquoted(v))
}

// content is text without a copy where there are no escapes.
func content(v value) []byte {
	if !isString(v) {
		return nil
	}
	if inner := v[1 : len(v)-1 : len(v)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	return unquoted(v)
}

// unquoted is a string's content.
func unquoted(v value) value {
	b, _ := wire.AppendUnquoted(nil, v) // what is not well-formed is replaced
	return b
}

func isString(v value) bool { return len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' }
func isObject(v value) bool { return len(v) > 0 && v[0] == '{' }
func isArray(v value) bool  { return len(v) > 0 && v[0] == '[' }

// absent says whether a field says nothing: it is not there, or null.
func absent(v value) bool { return len(v) == 0 || string(v) == "null" }

// hollow says whether a value holds nothing at all.
func hollow(v value) bool {
	if isObject(v) || isArray(v) {
		return wire.Blank(v[1 : len(v)-1])
	}
	return absent(v) || string(v) == `""`
}

// quote is s as a string of JSON.
func quote[T ~string | ~[]byte](s T) value { return wire.AppendQuoted(nil, s) }

// list is the text of an array's elements.
type list []byte

func (l *list) add(v []byte) {
	if len(*l) > 0 {
		*l = append(*l, ',')
	}
	*l = append(*l, v...)
}

// array is the list as an array.
func (l list) array() value { return slices.Concat(value("["), value(l), value("]")) }

// object is the text of an object that is being written.
type object []byte

// set adds a member.
func (o *object) set(name string, v []byte) {
	mark := byte(',')
	if len(*o) == 0 {
		mark = '{'
	}
	*o = append(append(wire.AppendQuoted(append(o.grow(len(name)+len(v)), mark), name), ':'), v...)
}

// room is what a member takes besides its name and its value, and an object that ends behind it.
const room = 8

// grow is the object with room for a member of n bytes, and for its end.
func (o *object) grow(n int) object { return slices.Grow(*o, n+room) }

// setGiven is set, unless there is no value.
func (o *object) setGiven(name string, v value) {
	if v != nil {
		o.set(name, v)
	}
}

// setString adds a member that is a string.
func (o *object) setString(name, s string) { o.set(name, quote(s)) }

// inner is the members behind one another, each with its comma in front.
func (o object) inner() []byte {
	if len(o) > 0 {
		o[0] = ','
	}
	return o
}

// close is the finished object.
func (o object) close() value {
	if len(o) == 0 {
		return value("{}")
	}
	return value(append(o, '}'))
}
