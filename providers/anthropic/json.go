package anthropic

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// value is the JSON of one value, a part of the text that it was found in. Requests
// are validated before they come here, so that reading them is only a search for
// ends: an image of some megabytes is neither copied nor read letter by letter. What
// is not valid gives some other value, and never a panic.
type value = jsontext.Value

// members calls f with the members of an object, until f returns an error. A value
// that is no object has none. Names are compared as they are meant, without their
// escapes, and with their case.
func members(object value, f func(name string, v value) error) error {
	i, ok := enter(object, '{')
	for ok {
		name, next := take(object, i)
		v, end := take(object, skip(object, next, ':'))
		if len(name) == 0 || len(v) == 0 {
			return nil
		}
		if err := f(text(name), v); err != nil {
			return err
		}
		i = skip(object, end, ',')
	}
	return nil
}

// elements calls f with the elements of an array, until f returns an error. A value
// that is no array has none.
func elements(array value, f func(i int, v value) error) error {
	at, ok := enter(array, '[')
	for i := 0; ok; i++ {
		v, end := take(array, at)
		if len(v) == 0 {
			return nil
		}
		if err := f(i, v); err != nil {
			return err
		}
		at = skip(array, end, ',')
	}
	return nil
}

// get is the member of an object with a name, nil if there is none or if it is null.
// It is for those who want few; of several the last one counts, as in fields.
func get(object value, name string) (found value) {
	i, ok := enter(object, '{')
	for ok {
		key, next := take(object, i)
		v, end := take(object, skip(object, next, ':'))
		if len(key) == 0 || len(v) == 0 {
			break
		}
		if isString(key) && string(key[1:len(key)-1]) == name || bytes.IndexByte(key, '\\') >= 0 && text(key) == name {
			found = v
		}
		i = skip(object, end, ',')
	}
	if absent(found) {
		return nil
	}
	return found
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

// enter is where the contents of b begin, if it starts with the bracket open.
func enter(b []byte, open byte) (int, bool) {
	i := blanks(b, 0)
	if i >= len(b) || b[i] != open {
		return 0, false
	}
	return i + 1, true
}

// take returns the value at i, without the white space in front of it, and its end.
// It is empty where no value begins.
func take(b []byte, i int) (v value, end int) {
	i = blanks(b, i)
	end = valueEnd(b, i)
	return value(b[i:end:end]), end
}

// skip is the place behind a mark that white space may precede.
func skip(b []byte, i int, mark byte) int {
	if i = blanks(b, i); i < len(b) && b[i] == mark {
		return i + 1
	}
	return i
}

func blanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// valueEnd is the end of the value that begins at i.
func valueEnd(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		default:
			if depth == 0 {
				return scalarEnd(b, i)
			}
			n := bytes.IndexAny(b[i:], `"{}[]`)
			if n < 0 {
				return len(b)
			}
			i += n
			continue
		}
		if depth == 0 {
			return i
		}
	}
	return len(b)
}

func scalarEnd(b []byte, i int) int {
	if n := bytes.IndexAny(b[i:], ",:]} \t\r\n"); n >= 0 {
		return i + n
	}
	return len(b)
}

// stringEnd is the place behind the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		escapes := 0
		for j := i + n - 1; j >= i && b[j] == '\\'; j-- {
			escapes++
		}
		i += n + 1
		if escapes%2 == 0 {
			return i
		}
	}
	return len(b)
}

// text is a string's content; empty if v is no string.
func text(v value) string {
	if !isString(v) {
		return ""
	}
	if inner := v[1 : len(v)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	b, _ := jsontext.AppendUnquote(nil, v) // what is not well-formed is replaced
	return string(b)
}

func isString(v value) bool { return len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' }
func isObject(v value) bool { return len(v) > 0 && v[0] == '{' }
func isArray(v value) bool  { return len(v) > 0 && v[0] == '[' }

// absent says whether a field says nothing: it is not there, or null.
func absent(v value) bool { return len(v) == 0 || string(v) == "null" }

// hollow says whether a value holds nothing at all.
func hollow(v value) bool {
	for open, end := range map[byte]byte{'[': ']', '{': '}'} {
		if i, ok := enter(v, open); ok {
			i = blanks(v, i)
			return i < len(v) && v[i] == end
		}
	}
	return absent(v) || string(v) == `""`
}

// quote is s as a string of JSON.
func quote[T ~string | ~[]byte](s T) value {
	b, _ := jsontext.AppendQuote(nil, s) // what is no UTF-8 is replaced
	return b
}

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
	b, _ := jsontext.AppendQuote(append(*o, mark), name) // what is no UTF-8 is replaced
	*o = append(append(b, ':'), v...)
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
