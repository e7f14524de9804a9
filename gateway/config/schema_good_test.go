package config_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/callgate/callgate/gateway/config"
)

// instance reads a file as an editor does that checks it against the schema.
func instance(t *testing.T, data []byte) any {
	t.Helper()
	var tree any
	if err := yaml.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestSchemaAccepts checks every good file, and what is printed of it, against the
// schema, and that it refuses some bad keys.
func TestSchemaAccepts(t *testing.T) {
	t.Parallel()
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("callgate.schema.json", text); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("callgate.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*.yaml", "*.txt"} {
		names, err := filepath.Glob(filepath.Join("testdata", "good", pattern))
		if err != nil || len(names) < 5 {
			t.Fatalf("got %d files, %v, want several", len(names), err)
		}
		for _, name := range names {
			file := instance(t, read(t, name))
			if file == nil {
				continue // an empty file has nothing that could be checked
			}
			if err := schema.Validate(file); err != nil {
				t.Errorf("%s: got error %v, want none", name, err)
			}
		}
	}
	for _, bad := range []string{
		"defaults: {guards: report}", "defaults: {guard: on}", "defaults: {guard_threshold: 0}", "defaults: {max_rounds: 1001}",
		"defaults: {intents: [{match: []}]}", "models: {m: {targets: [{provider: p}], route: {guard: off}}}",
		"models: {m: {guard: off}}", "models: {m: {alias: n, targets: [{provider: p}]}}", "models: {m: {alias: [n]}}",
		"models: {m: {targets: [{provider: p}], rules: [{when: {tools: 1}, targets: [{provider: p}]}]}}",
		"models: {m: {targets: [{provider: p}], rules: [{when: {metadata: {a: []}}, targets: [{provider: p}]}]}}",
		"models: {m: {targets: [{provider: p}], rules: [{targets: [{provider: p}]}]}}", "models: {m: {targets: [{provider: p, tools: none}]}}",
	} {
		if err := schema.Validate(instance(t, []byte(bad))); err == nil {
			t.Errorf("%s: got no error, want one", bad)
		}
	}
}
