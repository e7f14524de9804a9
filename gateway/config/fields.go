package config

import (
	"reflect"
	"strings"
	"sync"
)

// field is a key of a section, read from the tags of a struct field.
type field struct {
	index    []int // for reflect.Value.FieldByIndex, since sections may be inlined
	typ      reflect.Type
	name     string
	doc      string
	def      string
	hasDef   bool
	min, max string
	enum     []string
	other    string // what to write for whatever is none of the words
	example  string
	required bool
	instead  string // the key that makes this one, which is required otherwise, needless
	restart  bool   // read at the start of the process only
	omit     bool   // from what is printed, if it has no value
}

var fieldCache sync.Map // reflect.Type to []field

// fieldsOf returns the keys of a section in the order of its struct. Those of a
// struct with the tag yaml:",inline" are keys of the section that holds it.
func fieldsOf(t reflect.Type) []field {
	if cached, ok := fieldCache.Load(t); ok {
		return cached.([]field)
	}
	var fields []field
	for i := range t.NumField() {
		sf := t.Field(i)
		switch name, ok := sf.Tag.Lookup("yaml"); {
		case !ok:
		case name == ",inline":
			for _, f := range fieldsOf(sf.Type) {
				f.index = append([]int{i}, f.index...)
				fields = append(fields, f)
			}
		default:
			f := newField(sf, name)
			f.index = []int{i}
			fields = append(fields, f)
		}
	}
	fieldCache.Store(t, fields)
	return fields
}

// newField reads the tags of a struct field.
func newField(sf reflect.StructField, name string) field {
	f := field{
		typ: sf.Type, name: name,
		doc: sf.Tag.Get("doc"), min: sf.Tag.Get("min"), max: sf.Tag.Get("max"),
		required: sf.Tag.Get("required") == "true", instead: sf.Tag.Get("instead"), omit: sf.Tag.Get("omit") == "true",
		restart: sf.Tag.Get("restart") == "true", other: sf.Tag.Get("other"),
	}
	f.def, f.hasDef = sf.Tag.Lookup("default")
	if enum := sf.Tag.Get("enum"); enum != "" {
		f.enum = strings.Split(enum, ",")
	}
	f.example = exampleOf(sf.Tag, f)
	return f
}

// isUnset reports whether v is a number that nobody wrote. One without a default in
// its tags takes that of another place, and is 0 until then.
func (f field) isUnset(v reflect.Value) bool { return f.min != "" && !f.hasDef && v.IsZero() }

// exampleOf returns what an error shows: the example, else the default, else the
// first of the words.
func exampleOf(tag reflect.StructTag, f field) string {
	if eg := tag.Get("eg"); eg != "" {
		return eg
	}
	if f.def == "" && len(f.enum) > 0 {
		return f.enum[0]
	}
	return f.def
}

func namesOf(fields []field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// inRange reports whether the number v is within the bounds of f.
func (f field) inRange(v reflect.Value) bool {
	least, most := reflect.New(f.typ).Elem(), reflect.New(f.typ).Elem()
	_, _ = setScalar(least, f.min), setScalar(most, f.max) // a test reads them all
	if v.CanFloat() {
		return least.Float() <= v.Float() && v.Float() <= most.Float()
	}
	return least.Int() <= v.Int() && v.Int() <= most.Int()
}

// setDefaults fills a section, and the sections in it, with the defaults of the
// tags. Entries of mappings and lists get theirs when they are read.
func setDefaults(v reflect.Value) {
	for _, f := range fieldsOf(v.Type()) {
		fv := v.FieldByIndex(f.index)
		if f.hasDef {
			if err := setScalar(fv, f.def); err != nil {
				panic("config: default of " + f.name + " " + err.Error())
			}
		} else if f.typ.Kind() == reflect.Struct && !isScalar(f.typ) {
			setDefaults(fv)
		}
	}
}
