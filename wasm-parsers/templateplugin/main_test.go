package main

import (
	"encoding/json"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

func TestManifest(t *testing.T) {
	t.Parallel()
	var got abi.Manifest
	if err := json.Unmarshal(sdk.Manifest(), &got); err != nil {
		t.Fatal(err)
	}
	if got.ABI != abi.Version || got.Name != "template" || len(got.Parsers) != 1 || got.Parsers[0].Name != "response_template" {
		t.Errorf("manifest = %+v, want the module template with the parser response_template", got)
	}
}
