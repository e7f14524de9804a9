package structured

import (
	"bytes"
	"hash/maphash"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/callgate/callgate/gateway/internal/tools"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// forms keeps what was read of schemas: an application sends the same with every request. What is
// found is compared with the schema itself, so that no client can get another's.
type forms struct {
	schemas *repair.Schemas
	seed    maphash.Seed
	kept    *lru.Cache[uint64, *kept]
	any     *repair.Form // of an answer without a schema
}

// kept is a schema with what was read of it.
type kept struct {
	schema []byte
	form   *repair.Form
}

// Bounds of what is kept: together 16 MiB of schemas.
const (
	maxForms  = 256
	maxSchema = 64 << 10 // bytes; a longer one is read each time
)

func newForms() *forms {
	list, err := lru.New[uint64, *kept](maxForms)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &forms{schemas: repair.NewSchemas(maxForms), seed: maphash.MakeSeed(), kept: list, any: &repair.Form{Root: abi.Object}}
}

// of is the form of an answer that is to fit a schema, nil for any object.
func (f *forms) of(schema []byte) *repair.Form {
	if schema == nil {
		return f.any
	}
	if len(schema) > maxSchema {
		return f.read(schema)
	}
	key := maphash.Bytes(f.seed, schema)
	if k, ok := f.kept.Get(key); ok && bytes.Equal(k.schema, schema) {
		return k.form
	}
	schema = bytes.Clone(schema) // the request's bytes are not kept
	k := &kept{schema, f.read(schema)}
	f.kept.Add(key, k)
	return k.form
}

// read reads a schema.
func (f *forms) read(schema []byte) *repair.Form {
	form := &repair.Form{Root: rootOf(schema), Fits: func(value []byte) bool {
		problem, checked := f.schemas.CheckAnswer(schema, value)
		return checked && problem == nil
	}}
	list, err := tools.Read(slices.Concat([]byte(`[{"function":{"name":"answer","parameters":`), schema, []byte(`}}]`)))
	if err == nil && len(list) == 1 && len(list[0].Params) > 0 {
		form.Tool = &list[0]
	}
	form.Shape = tools.Shape(schema)
	return form
}

// rootOf are the types that a schema has for the value itself; 0 where it says nothing of them.
func rootOf(schema []byte) (root abi.Types) {
	all := wire.Span{Start: 0, End: len(schema)}
	at := wire.Find(schema, all, "type")
	if at.Empty() || schema[at.Start] != '[' {
		root = typeNames[wire.Unquote(at.Of(schema))]
	} else {
		known := true
		wire.Elements(schema, at.Start, func(_ int, v wire.Span) bool {
			t := typeNames[wire.Unquote(v.Of(schema))]
			root, known = root|t, known && t != 0
			return true
		})
		if !known {
			return 0
		}
	}
	if root != 0 && string(wire.Find(schema, all, "nullable").Of(schema)) == "true" { // OpenAPI's
		root |= abi.Null
	}
	return root
}

// names reports whether a schema says what is in a value: it has each member of an object, or what
// the elements of an array are. One that says nothing of them takes everything.
func names(form *repair.Form, schema, value []byte) bool {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || value[0] != '{' {
		return !wire.Find(schema, wire.Span{End: len(schema)}, "items").Empty()
	}
	known := form.Tool != nil
	wire.Members(value, 0, func(key []byte, _ wire.Span) bool {
		known = known && slices.ContainsFunc(form.Tool.Params, func(p abi.Param) bool { return p.Name == string(key) })
		return known
	})
	return known
}

var typeNames = map[string]abi.Types{"object": abi.Object, "array": abi.Array, "string": abi.String, "integer": abi.Integer,
	"number": abi.Number, "boolean": abi.Boolean, "null": abi.Null}
