package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// scalar is a type whose values are written as one word: what a message calls it, how a value
// is read, with an error that begins with "is", and printed, and its schema.
type scalar struct {
	name   string
	set    func(v reflect.Value, text string) error
	text   func(v reflect.Value) string
	schema func(f field) schema
}

var (
	secretType   = reflect.TypeFor[Secret]()
	durationType = reflect.TypeFor[Duration]()
	parsersType  = reflect.TypeFor[Parsers]()
	wordsType    = reflect.TypeFor[Words]()
)

var scalars = map[reflect.Type]scalar{
	reflect.TypeFor[string](): {"text", setText, func(v reflect.Value) string { return plainText(v.String()) }, textSchema},
	secretType: {
		"text", func(v reflect.Value, text string) error { v.Set(reflect.ValueOf(NewSecret(text))); return nil },
		func(reflect.Value) string { return quoteYAML(redacted) },
		func(field) schema { return schema{"type": "string", "minLength": 1} },
	},
	parsersType: {
		"a name or a list of names", func(v reflect.Value, text string) error { v.Set(reflect.ValueOf(Parsers{text})); return nil },
		wordsText, func(field) schema { return listSchema(orVariable(schema{"type": "string", "pattern": parserPattern})) },
	},
	wordsType: {
		"text or a list of texts", func(v reflect.Value, text string) error { v.Set(reflect.ValueOf(Words{text})); return nil },
		wordsText, func(field) schema { return listSchema(schema{"type": "string", "minLength": 1}) },
	},
	jsonType: {"a mapping", func(v reflect.Value, text string) error { v.SetString(text); return nil },
		func(v reflect.Value) string { return cmp.Or(strings.ReplaceAll(v.String(), "${", "$${"), "{}") },
		func(field) schema { return schema{"type": []string{"object", "null"}} }},
	reflect.TypeFor[Switch](): {"true or false", func(v reflect.Value, text string) error {
		_, err := parseBool(text)
		v.SetString(text)
		return err
	}, printed, func(field) schema { return orVariable(schema{"type": "boolean"}) }},
	reflect.TypeFor[bool](): {"true or false", func(v reflect.Value, text string) error {
		is, err := parseBool(text)
		v.SetBool(is)
		return err
	}, printed, func(field) schema { return orVariable(schema{"type": "boolean"}) }},
	reflect.TypeFor[int](): {"a whole number", setInt(parseInt), printed, numberSchema("integer")},
	reflect.TypeFor[float64](): {"a number", func(v reflect.Value, text string) error {
		f, err := parseFloat(text)
		v.SetFloat(f)
		return err
	}, func(v reflect.Value) string { return strconv.FormatFloat(v.Float(), 'f', -1, 64) }, numberSchema("number")},
	reflect.TypeFor[Size](): {"a size", setInt(ParseSize), printed, func(field) schema {
		return orVariable(schema{"type": []string{"string", "integer"}, "pattern": sizePattern, "minimum": 0})
	}},
	durationType: {"a duration", setInt(parseDuration), printed, func(field) schema {
		return orVariable(schema{"type": "string", "pattern": durationPattern})
	}},
}

// isScalar reports whether a value of the type is written as one word.
func isScalar(t reflect.Type) bool { return scalars[t].name != "" }

// isWordList reports whether a value of the type is written as one word or a list of words.
func isWordList(t reflect.Type) bool { return t == parsersType || t == wordsType }

func isFloat(t reflect.Type) bool { return t.Kind() == reflect.Float64 }

// typeName says for a message what is expected.
func typeName(t reflect.Type) string {
	switch {
	case isScalar(t):
		return scalars[t].name
	case t.Kind() == reflect.Slice:
		return "a list"
	}
	return "a mapping"
}

// setScalar reads text into v, which an error leaves as it is. An error begins with "is".
func setScalar(v reflect.Value, text string) error {
	read := reflect.New(v.Type()).Elem()
	if err := scalars[v.Type()].set(read, text); err != nil {
		return err
	}
	v.Set(read)
	return nil
}

func setText(v reflect.Value, text string) error { v.SetString(text); return nil }

// setInt reads what is an integer to Go.
func setInt[N ~int64](parse func(text string) (N, error)) func(v reflect.Value, text string) error {
	return func(v reflect.Value, text string) error {
		n, err := parse(text)
		v.SetInt(int64(n))
		return err
	}
}

func parseBool(text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, errors.New("is neither true nor false")
	}
	return text == "true", nil
}

func parseInt(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	switch {
	case errors.Is(err, strconv.ErrRange) && n > 0:
		return 0, errors.New("is too large a number")
	case errors.Is(err, strconv.ErrRange):
		return 0, errors.New("is too small a number")
	case err != nil:
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

func printed(v reflect.Value) string { return fmt.Sprint(v.Interface()) }

func wordsText(v reflect.Value) string {
	names := make([]string, v.Len())
	for i := range names {
		names[i] = plainText(v.Index(i).String())
	}
	if len(names) == 1 {
		return names[0]
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// plainText is text in which nothing is a variable.
func plainText(text string) string { return quoteYAML(strings.ReplaceAll(text, "${", "$${")) }

func listSchema(word schema) schema {
	return schema{"anyOf": []any{word, schema{"type": "array", "items": word, "minItems": 1}}}
}

func numberSchema(typ string) func(f field) schema {
	return func(f field) schema {
		return orVariable(schema{"type": typ, "minimum": json.Number(f.min), "maximum": json.Number(f.max)})
	}
}

func textSchema(f field) schema {
	switch {
	case len(f.enum) == 0:
		return schema{"type": "string"}
	case f.hasDef || f.required:
		return orVariable(schema{"enum": f.enum})
	}
	return orVariable(schema{"enum": f.enum}, schema{"type": "string", "maxLength": 0}) // empty text stands for nothing written
}
