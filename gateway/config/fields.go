package config

import (
	"errors"
	"reflect"
	"strconv"
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
	example  string
	required bool
	instead  string // the key that makes this one, which is required otherwise, needless
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

var (
	secretType   = reflect.TypeFor[Secret]()
	sizeType     = reflect.TypeFor[Size]()
	durationType = reflect.TypeFor[Duration]()
	parsersType  = reflect.TypeFor[Parsers]()
	wordsType    = reflect.TypeFor[Words]()
	switchType   = reflect.TypeFor[Switch]()
)

// isScalar reports whether a value of the type is written as one word.
func isScalar(t reflect.Type) bool {
	if t == secretType || isWordList(t) {
		return true
	}
	return t.Kind() == reflect.String || t.Kind() == reflect.Bool || isInt(t) || isFloat(t)
}

// isWordList reports whether a value of the type is written as one word or a list of words.
func isWordList(t reflect.Type) bool { return t == parsersType || t == wordsType }

func isFloat(t reflect.Type) bool { return t.Kind() == reflect.Float64 }

func isInt(t reflect.Type) bool { return t.Kind() == reflect.Int || t.Kind() == reflect.Int64 }

// typeName says for a message what is expected.
func typeName(t reflect.Type) string {
	switch {
	case t == sizeType:
		return "a size"
	case t == durationType:
		return "a duration"
	case t == parsersType:
		return "a name or a list of names"
	case t == wordsType:
		return "text or a list of texts"
	case t == switchType:
		return "true or false"
	case t == secretType || t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case isInt(t):
		return "a whole number"
	case isFloat(t):
		return "a number"
	case t.Kind() == reflect.Slice:
		return "a list"
	}
	return "a mapping"
}

// setScalar reads text into v. An error begins with "is".
func setScalar(v reflect.Value, text string) error {
	switch v.Type() {
	case secretType:
		v.Set(reflect.ValueOf(NewSecret(text)))
		return nil
	case parsersType:
		v.Set(reflect.ValueOf(Parsers{text}))
		return nil
	case wordsType:
		v.Set(reflect.ValueOf(Words{text}))
		return nil
	case switchType:
		if text != string(True) && text != string(False) {
			return errors.New("is neither true nor false")
		}
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return nil
	case reflect.Bool:
		if text != "true" && text != "false" {
			return errors.New("is neither true nor false")
		}
		v.SetBool(text == "true")
		return nil
	case reflect.Float64:
		f, err := parseFloat(text)
		if err != nil {
			return err
		}
		v.SetFloat(f)
		return nil
	}
	n, err := parseInt(v.Type(), text)
	if err != nil {
		return err
	}
	v.SetInt(n)
	return nil
}

// parseInt reads a number, size or duration.
func parseInt(t reflect.Type, text string) (int64, error) {
	switch t {
	case sizeType:
		n, err := ParseSize(text)
		return int64(n), err
	case durationType:
		d, err := parseDuration(text)
		return int64(d), err
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, errors.New("is not a whole number")
	}
	return n, nil
}

// parseFloat reads a decimal number. What else Go takes for one, such as NaN and
// 0x1p-2, has no place in a file.
func parseFloat(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789.eE+-") != "" {
		return 0, errors.New("is not a number")
	}
	return f, nil
}

// inRange reports whether the number v is within the bounds of f.
func (f field) inRange(v reflect.Value) bool {
	if isFloat(f.typ) {
		least, _ := parseFloat(f.min)
		most, _ := parseFloat(f.max)
		return least <= v.Float() && v.Float() <= most
	}
	least, _ := parseInt(f.typ, f.min)
	most, _ := parseInt(f.typ, f.max)
	return least <= v.Int() && v.Int() <= most
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
