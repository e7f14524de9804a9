package reference

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/wire"
)

// Strip returns the edits that take the declarations of references out of a request's
// tools, the array of that name, so that no upstream refuses a keyword that it does
// not know. They are in the order of the text and apart from each other. What has the
// same name but is no keyword stays: a property, or something in a default or an enum.
// There are none for tools without declarations, nor for text that is not JSON or
// nests deeper than 128.
func Strip(tools []byte) (edits []wire.Edit) {
	for _, at := range cuts(tools, inTools) {
		edits = append(edits, wire.Edit{At: at})
	}
	return edits
}

// role is what a value is within tools.
type role uint8

const (
	inData    role = iota // nothing of interest
	inTools               // the array of tools, or one of them
	inSchema              // a schema, or an array of schemas
	inSchemas             // an object whose members are schemas
)

// member is the role of an object's member.
func (r role) member(name string) role {
	switch r {
	case inTools:
		switch name {
		case "function":
			return inTools
		case "parameters":
			return inSchema
		}
	case inSchemas:
		return inSchema
	case inSchema:
		switch name {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			return inSchemas
		case "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "additionalProperties",
			"unevaluatedProperties", "propertyNames", "anyOf", "oneOf", "allOf", "not", "if", "then", "else":
			return inSchema
		}
	}
	return inData
}

// element is the role of an array's element.
func (r role) element() role {
	if r == inSchemas {
		return inData
	}
	return r
}

// level is an object or array that is being read.
type level struct {
	role  role
	array bool
	// kept is where the last member ends that stays, or -1 as long as there is none.
	kept int
	// cut is what is to be taken out behind it.
	cut wire.Span
}

// cutter reads a text and collects the places of declarations, each with one of the
// commas around it.
type cutter struct {
	dec    *jsontext.Decoder
	levels []level
	cuts   []wire.Span
}

var errDeep = errors.New("the text nests too deep")

// cuts returns what to take out of a text that has a role.
func cuts(text []byte, r role) []wire.Span {
	if !bytes.Contains(text, []byte(`"`+keyword+`"`)) {
		return nil
	}
	c := cutter{dec: jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))}
	err := c.value(r)
	for err == nil && len(c.levels) > 0 {
		err = c.next()
	}
	if err != nil {
		return nil
	}
	if _, err := c.dec.ReadToken(); err != io.EOF {
		return nil
	}
	return c.cuts
}

// at is where what was read last ends.
func (c *cutter) at() int { return int(c.dec.InputOffset()) }

// value reads a value, or the beginning of one that is of interest.
func (c *cutter) value(r role) error {
	kind := c.dec.PeekKind()
	nests := kind == jsontext.KindBeginObject || kind == jsontext.KindBeginArray
	if r == inData || !nests {
		err := c.dec.SkipValue()
		c.ended()
		return err
	}
	if len(c.levels) == maxDepth {
		return errDeep
	}
	c.levels = append(c.levels, level{role: r, array: kind == jsontext.KindBeginArray, kept: -1})
	_, err := c.dec.ReadToken()
	return err
}

// ended notes that a value has ended, for the object that it is a member of.
func (c *cutter) ended() {
	if n := len(c.levels); n > 0 {
		c.levels[n-1].kept = c.at()
	}
}

// next reads an element, a member or the end of what is open.
func (c *cutter) next() error {
	l := &c.levels[len(c.levels)-1]
	switch kind := c.dec.PeekKind(); {
	case kind == jsontext.KindEndObject || kind == jsontext.KindEndArray:
		c.flush(l)
		c.levels = c.levels[:len(c.levels)-1]
		_, err := c.dec.ReadToken()
		c.ended()
		return err
	case l.array:
		return c.value(l.role.element())
	}
	name, err := c.dec.ReadValue()
	if err != nil {
		return err
	}
	start := c.at() - len(name)
	key := string(wire.Key(name[1 : len(name)-1]))
	if l.role == inSchema && key == keyword {
		if err := c.dec.SkipValue(); err != nil {
			return err
		}
		if l.cut.Empty() {
			l.cut.Start = start
			if l.kept >= 0 {
				l.cut.Start = l.kept
			}
		}
		l.cut.End = c.at()
		return nil
	}
	if l.kept < 0 && !l.cut.Empty() {
		l.cut.End = start
	}
	c.flush(l)
	return c.value(l.role.member(key))
}

// flush has the place of declarations cut, if there are some.
func (c *cutter) flush(l *level) {
	if !l.cut.Empty() {
		c.cuts = append(c.cuts, l.cut)
		l.cut = wire.Span{}
	}
}
