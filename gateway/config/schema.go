package config

import (
	"encoding/json"
	"reflect"
)

const (
	sizePattern     = `^[0-9]+(B|KB|MB|GB|KiB|MiB|GiB)?$`
	durationPattern = `^[+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`
	parserPattern   = `^[a-z0-9_.-]+$`
	variablePattern = `\$\{`
)

type schema = map[string]any

// Schema returns the JSON Schema (2020-12) of the file. Editors use it to
// complete and check: begin the file with
//
//	# yaml-language-server: $schema=callgate.schema.json
//
// It accepts everything that [Parse] accepts; the rules that span several keys
// are checked by Parse alone.
func Schema() []byte {
	root := sectionSchema(reflect.TypeFor[Config]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Callgate configuration"
	root["$defs"] = schema{"variable": schema{
		"type": "string", "pattern": variablePattern,
		"description": "Text with ${NAME} or ${NAME:-default}, from the environment.",
	}}
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic("config: schema: " + err.Error()) // only strings, numbers and maps
	}
	return append(out, '\n')
}

func sectionSchema(t reflect.Type) schema {
	properties, required := schema{}, []string{}
	var oneOf []any
	for _, f := range fieldsOf(t) {
		properties[f.name] = fieldSchema(f)
		if f.required {
			required = append(required, f.name)
		}
		if f.instead != "" {
			oneOf = append(oneOf, schema{"required": []string{f.name}}, schema{"required": []string{f.instead}})
		}
	}
	s := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	if len(oneOf) > 0 {
		s["oneOf"] = oneOf
	}
	return s
}

func fieldSchema(f field) schema {
	s := typeSchema(f.typ, f)
	description := f.doc
	if f.min != "" {
		description += " From " + f.min + " to " + f.max + "."
	}
	if f.restart {
		description += " A change needs a restart."
	}
	s["description"] = description
	switch {
	case f.hasDef && (f.typ.Kind() == reflect.Int || isFloat(f.typ)):
		s["default"] = json.Number(f.def) // setDefaults has read it too
	case f.hasDef:
		s["default"] = f.def
	}
	return s
}

// typeSchema gives the schema of a type, with what the tags of f say of words
// and numbers.
func typeSchema(t reflect.Type, f field) schema {
	switch {
	case isScalar(t):
		return scalars[t].schema(f)
	case t.Kind() == reflect.Slice:
		s := schema{"type": []string{"array", "null"}, "items": typeSchema(t.Elem(), field{})}
		if f.required || f.instead != "" {
			s["type"], s["minItems"] = "array", 1
		}
		return s
	case t.Kind() == reflect.Map:
		return schema{"type": []string{"object", "null"}, "additionalProperties": typeSchema(t.Elem(), field{})}
	}
	s := sectionSchema(t)
	if f.name != "" {
		s["type"] = []string{"object", "null"}
	}
	return s
}

// orVariable allows what is known only once a variable is expanded.
func orVariable(choices ...any) schema {
	return schema{"anyOf": append(choices, schema{"$ref": "#/$defs/variable"})}
}
