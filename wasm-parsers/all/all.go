// Package all lists the parsers that come with the gateway, for the module that
// holds them and for tests that run them natively.
package all

import (
	"cmp"
	"slices"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/braces"
	"github.com/callgate/callgate/wasm-parsers/fallback"
	"github.com/callgate/callgate/wasm-parsers/framing"
	"github.com/callgate/callgate/wasm-parsers/headerjson"
	"github.com/callgate/callgate/wasm-parsers/heuristic"
	"github.com/callgate/callgate/wasm-parsers/keyvalue"
	"github.com/callgate/callgate/wasm-parsers/openaijson"
	"github.com/callgate/callgate/wasm-parsers/pythonic"
	"github.com/callgate/callgate/wasm-parsers/taggedjson"
	"github.com/callgate/callgate/wasm-parsers/xmlparams"
)

// Specs are the parsers, the one that is asked first in front.
func Specs() []sdk.Spec {
	specs := slices.Concat(
		[]sdk.Spec{openaijson.OpenAI(), taggedjson.Custom(), fallback.Fallback()},
		taggedjson.Specs(),
		headerjson.Specs(),
		xmlparams.Specs(),
		keyvalue.Specs(),
		braces.Specs(),
		pythonic.Specs(),
		framing.Specs(),
		heuristic.Specs(),
	)
	slices.SortStableFunc(specs, func(a, b sdk.Spec) int { return cmp.Compare(b.Priority, a.Priority) })
	return specs
}
