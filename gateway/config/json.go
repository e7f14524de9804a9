package config

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/callgate/callgate/gateway/internal/yamldoc"
)

// JSON is a value of any form that the file has in YAML and another package reads as JSON, such
// as a JSON schema. Members are in the order of the file. "" is none.
type JSON string

var jsonType = reflect.TypeFor[JSON]()

// free reads a value of any form. Variables in text are expanded, and marked as what they are.
func (d *decoder) free(p path, n *yamldoc.Node, v reflect.Value) {
	var b strings.Builder
	if d.json(p, n, &b) {
		v.SetString(b.String())
	}
}

func (d *decoder) json(p path, n *yamldoc.Node, b *strings.Builder) bool {
	ok := true
	switch n.Kind {
	case yamldoc.Map:
		b.WriteByte('{')
		for i, e := range n.Entries {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(quoted(e.Key))
			b.WriteByte(':')
			ok = d.json(p.Key(e.Key), e.Value, b) && ok
		}
		b.WriteByte('}')
	case yamldoc.List:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			ok = d.json(p.At(i), item, b) && ok
		}
		b.WriteByte(']')
	case yamldoc.Null:
		b.WriteString("null")
	case yamldoc.Text:
		text, _, err := d.exp.expand(n.Text)
		if err != nil {
			d.r.at(n.Line, n.Column, p, "%v", err)
			return false
		}
		b.Write(quoted(text))
	default: // a number, true or false
		if !json.Valid([]byte(n.Text)) {
			d.r.at(n.Line, n.Column, p, "JSON has no such value; write it as JSON has it, or put it in quotes")
			return false
		}
		b.WriteString(n.Text)
	}
	return ok
}

func quoted(text string) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // text can always be written
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}
