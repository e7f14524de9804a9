package config

import (
	"reflect"
	"strings"

	"github.com/callgate/callgate/gateway/internal/yamldoc"
)

// decoder fills structs from nodes. A value that it refuses keeps its default,
// and the decoder goes on, to report every problem of the file at once.
type decoder struct {
	r   *report
	exp *expander
}

// value reads n into v. The field is the nearest one above, whose example an
// error shows.
func (d *decoder) value(p path, n *yamldoc.Node, v reflect.Value, f field) {
	if _, ok := d.r.src.marks[p]; !ok {
		d.r.src.marks[p] = mark{line: n.Line, col: n.Column}
	}
	t := v.Type()
	switch {
	case n.Kind == yamldoc.Null && isScalar(t): // more likely a mistake
		d.r.add(p, "there is no value; write for example %s, or leave the key out", example(f))
	case n.Kind == yamldoc.Null: // a section is left out, as when all its keys are comments
	case isWordList(t) && n.Kind == yamldoc.List:
		d.list(p, n, v, f)
	case isScalar(t):
		d.scalar(p, n, v, f)
	case t.Kind() == reflect.Slice && n.Kind == yamldoc.List:
		d.list(p, n, v, f)
	case t.Kind() == reflect.Map && n.Kind == yamldoc.Map:
		d.table(p, n, v, f)
	case t.Kind() == reflect.Struct && n.Kind == yamldoc.Map:
		d.section(p, n, v)
	default:
		d.mismatch(p, n, t, f)
	}
}

func (d *decoder) mismatch(p path, n *yamldoc.Node, t reflect.Type, f field) {
	d.r.add(p, "expected %s, got %s; write for example %s", typeName(t), got(n, t), example(f))
}

// got tells what stands where a value of type t belongs. It quotes what stands for
// another scalar; a secret may be there, or be what stands in place of a section.
func got(n *yamldoc.Node, t reflect.Type) string {
	if !isScalar(t) || t == secretType {
		return n.Kind.String()
	}
	switch n.Kind {
	case yamldoc.Text:
		return "the text " + yamldoc.Quote(n.Text)
	case yamldoc.Number:
		return "the number " + n.Text
	case yamldoc.Bool:
		return n.Text
	}
	return n.Kind.String()
}

func example(f field) string {
	if f.example == "" {
		return f.name + `: ""`
	}
	return f.name + ": " + f.example
}

// scalar reads text, a number, a size or a duration. Text must be written as
// text: what YAML takes for a number, such as 1.10, may not be what was meant.
func (d *decoder) scalar(p path, n *yamldoc.Node, v reflect.Value, f field) {
	t := v.Type()
	if t == jsonType {
		d.free(p, n, v, f)
		return
	}
	if !d.fits(p, n, t, f) {
		return
	}
	text, expanded, err := d.exp.expand(n.Text)
	if err != nil {
		d.r.add(p, "%v", err)
		return
	}
	if (t.Kind() == reflect.Int || isFloat(t)) && n.Kind == yamldoc.Text && !expanded {
		d.mismatch(p, n, t, f)
		return
	}
	if t == secretType {
		d.secret(p, n, text, expanded, v, f)
		return
	}
	if expanded {
		d.r.src.marks[p] = mark{n.Line, n.Column, n.Text, text}
	}
	if err := setScalar(v, text); err != nil {
		d.r.add(p, "%s %v; write for example %s", d.r.src.show(p, text), err, example(f))
	}
}

// fits reports whether a YAML value may be a setting of type t, or says why not.
func (d *decoder) fits(p path, n *yamldoc.Node, t reflect.Type, f field) bool {
	isText := typeName(t) == "text" || isWordList(t)
	switch {
	case n.Kind == yamldoc.List || n.Kind == yamldoc.Map, !isText && n.Kind == yamldoc.Bool && typeName(t) != "true or false":
		d.mismatch(p, n, t, f)
	case isText && n.Kind != yamldoc.Text && len(f.enum) > 0: // true in quotes is no word of them either
		d.r.add(p, "expected a word, got %s%s", got(n, t), d.r.suggest(p, "", "words", f.enum))
	case isText && n.Kind != yamldoc.Text:
		d.r.add(p, "expected text, got %s; put it in quotes if it is meant, or write for example %s", got(n, t), example(f))
	default:
		return true
	}
	return false
}

// secret refuses an empty value where one was written: a variable that is set
// but empty would otherwise turn authorization off without a word.
func (d *decoder) secret(p path, n *yamldoc.Node, text string, expanded bool, v reflect.Value, f field) {
	orNone := ", or leave the key out"
	if f.required {
		orNone = ""
	}
	switch {
	case text != "":
		v.Set(reflect.ValueOf(NewSecret(text)))
	case expanded:
		d.r.add(p, "%s is empty; set it%s", n.Text, orNone)
	default:
		d.r.add(p, "the value is empty; write for example %s%s", example(f), orNone)
	}
}

func (d *decoder) list(p path, n *yamldoc.Node, v reflect.Value, f field) {
	list := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		d.element(p.At(i), item, list.Index(i), f)
	}
	v.Set(list)
}

func (d *decoder) table(p path, n *yamldoc.Node, v reflect.Value, f field) {
	table := reflect.MakeMapWithSize(v.Type(), len(n.Entries))
	for _, e := range n.Entries {
		if strings.Contains(e.Key, "${") {
			d.r.at(e.Line, e.Column, p.Key(e.Key), "variables are expanded in values only, not in keys")
			continue
		}
		d.markKey(p, e)
		element := reflect.New(v.Type().Elem()).Elem()
		d.element(p.Key(e.Key), e.Value, element, f)
		table.SetMapIndex(reflect.ValueOf(e.Key), element)
	}
	v.Set(table)
}

// element reads an element of a list or mapping, which begins with its defaults.
// Here an empty section is a mistake, since it stands for something.
func (d *decoder) element(p path, n *yamldoc.Node, v reflect.Value, f field) {
	isSection := v.Kind() == reflect.Struct && !isScalar(v.Type())
	if isSection {
		setDefaults(v)
	}
	d.value(p, n, v, f)
	if isSection && n.Kind == yamldoc.Null {
		d.r.add(p, "expected a mapping, got nothing; indent what belongs to it, or write for example %s", example(f))
	}
}

func (d *decoder) section(p path, n *yamldoc.Node, v reflect.Value) {
	fields := fieldsOf(v.Type())
	for _, e := range n.Entries {
		known := false
		for _, f := range fields {
			if f.name == e.Key {
				d.markKey(p, e)
				d.value(p.Key(e.Key), e.Value, v.FieldByIndex(f.index), f)
				known = true
			}
		}
		if !known {
			d.unknown(p, e, fields)
		}
	}
}

// markKey has problems of a list or mapping shown at its key, which is where one
// looks for what is missing in it.
func (d *decoder) markKey(p path, e yamldoc.Entry) {
	if k := e.Value.Kind; k == yamldoc.List || k == yamldoc.Map || k == yamldoc.Null {
		d.r.src.marks[p.Key(e.Key)] = mark{line: e.Line, col: e.Column}
	}
}

func (d *decoder) unknown(p path, e yamldoc.Entry, fields []field) {
	names := namesOf(fields)
	d.r.problems.UnknownKey(p, e, names)
	d.r.bad[p.Key(e.Key)] = true
	if meant := yamldoc.Nearest(e.Key, names); meant != "" && !d.r.full() {
		// That the key meant is missing follows from this.
		d.r.bad[p.Key(meant)] = true
	}
}
