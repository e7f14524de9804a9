package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/all"
)

func TestManifest(t *testing.T) {
	t.Parallel()
	dec := json.NewDecoder(strings.NewReader(string(sdk.Manifest())))
	dec.DisallowUnknownFields()
	var got abi.Manifest
	if err := dec.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.ABI != abi.Version || got.Name != "builtin" || len(got.Parsers) != len(all.Specs()) {
		t.Errorf("manifest = %+v, want ABI %d, the name builtin and %d parsers", got, abi.Version, len(all.Specs()))
	}
}
