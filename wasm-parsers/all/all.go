// Package all lists the parsers that come with the gateway, for the module that
// holds them and for tests that run them natively.
package all

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/fallback"
	"github.com/callgate/callgate/wasm-parsers/openaijson"
	"github.com/callgate/callgate/wasm-parsers/taggedjson"
	"github.com/callgate/callgate/wasm-parsers/xmlparams"
)

// Specs are the parsers, the one that is asked first in front.
func Specs() []sdk.Spec {
	return []sdk.Spec{
		openaijson.OpenAI(),
		taggedjson.Hermes(),
		xmlparams.Qwen3Coder(),
		taggedjson.ToolCallTags(),
		taggedjson.Custom(),
		fallback.Fallback(),
	}
}
