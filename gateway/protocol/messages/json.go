package messages

import (
	"slices"

	"github.com/callgate/callgate/gateway/wire"
)

// value is the JSON of one value, a part of the request that it stands in.
type value = []byte

// members calls f for the members of an object, by their names without escapes; null counts
// as not there.
func members(object value, f func(name string, v value)) {
	wire.Members(object, 0, func(key []byte, at wire.Span) bool {
		if !at.IsNull(object) {
			f(string(wire.Key(key)), object[at.Start:at.End:at.End])
		}
		return true
	})
}

// elements calls f for the elements of an array until it returns an error.
func elements(array value, f func(i int, v value) error) (err error) {
	wire.Elements(array, 0, func(i int, at wire.Span) bool {
		err = f(i, array[at.Start:at.End:at.End])
		return err == nil
	})
	return err
}

// fields are the members of an object that are not null.
func fields(object value) map[string]value {
	m := map[string]value{}
	members(object, func(name string, v value) { m[name] = v })
	return m
}

// find is a member of an object, nil if it is not there or null.
func find(object value, name string) value {
	at := wire.Find(object, wire.Span{Start: 0, End: len(object)}, name)
	if at.IsNull(object) {
		return nil
	}
	return at.Of(object)
}

// others are the members of an object but those of some names, each with a comma in front.
func others(object value, leftOut ...string) []byte {
	return wire.AppendOthers([]byte{','}, object, leftOut...)[1:]
}

func isString(v value) bool { return len(v) >= 2 && v[0] == '"' }
func isObject(v value) bool { return len(v) > 0 && v[0] == '{' }
func isArray(v value) bool  { return len(v) > 0 && v[0] == '[' }

func text(v value) string {
	if !isString(v) {
		return ""
	}
	return wire.Unquote(v)
}

// inner is what stands between the quotes of a string, nothing if v is none.
func inner(v value) []byte {
	if !isString(v) {
		return nil
	}
	return v[1 : len(v)-1]
}

// blank reports whether the inner text of a string is white space, if anything.
func blank(inner []byte) bool {
	for i := 0; i < len(inner); i++ {
		switch inner[i] {
		case ' ':
		case '\\':
			if i++; i >= len(inner) || inner[i] != 'n' && inner[i] != 't' && inner[i] != 'r' {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// quoted is the string of inner text.
func quoted(inner []byte) value { return slices.Concat([]byte{'"'}, inner, []byte{'"'}) }

// prose is the inner text of a string that is put together of several.
type prose []byte

// add begins a paragraph. The first one stays a part of the client's body, until another follows.
func (p *prose) add(pieces ...[]byte) {
	if len(*p) == 0 && len(pieces) == 1 {
		*p = pieces[0][:len(pieces[0]):len(pieces[0])]
		return
	}
	if len(*p) > 0 {
		*p = append(*p, `\n\n`...)
	}
	for _, piece := range pieces {
		*p = append(*p, piece...)
	}
}
