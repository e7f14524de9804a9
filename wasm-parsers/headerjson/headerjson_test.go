package headerjson_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/headerjson"
)

// tools are what the tests that are no golden cases offer.
var tools = []sdk.Tool{
	{Name: "get_weather", Params: []sdk.Param{{Name: "city", Types: abi.String, Required: true}}},
	{Name: "get_time"},
	{Name: "write_file", Params: []sdk.Param{{Name: "path", Types: abi.String}, {Name: "content", Types: abi.String}}},
	{Name: "python", Params: []sdk.Param{{Name: "code", Types: abi.String}}},
}

func TestGolden(t *testing.T) {
	t.Parallel()
	sdktest.GoldenAll(t, "testdata", headerjson.Specs()...)
}

func TestExample(t *testing.T) {
	t.Parallel()
	ids := map[string]string{"kimi_k2": "functions.get_weather:0"}
	for _, spec := range headerjson.Specs() {
		sdktest.Example(t, spec, sdk.Options{}, sdktest.Call{Name: "get_weather", ID: ids[spec.Name], Args: `{"city": "Oslo"}`})
	}
}

// TestTruncation cuts every golden input at every place: the events stay valid, and
// no call is made up that the whole input does not begin with.
func TestTruncation(t *testing.T) {
	t.Parallel()
	for _, spec := range headerjson.Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			opts := sdk.Options{Tools: tools}
			for _, c := range sdktest.Cases(t, "testdata/"+spec.Name) {
				whole := sdktest.Calls(sdktest.Run(t, spec, opts, c.Input, sdk.Stop))
				for cut := range sdktest.Truncated(t, spec, opts, c.Input) {
					if !begins(whole, cut.Calls) {
						t.Fatalf("%q cut to %q gives calls %q, whole %q", c.Input, cut.Text, cut.Calls, whole)
					}
				}
			}
		})
	}
}

// begins reports whether the calls of a text that was cut are the first of those of
// the whole. Where the whole has fewer, what followed a call has spoilt it. Text that
// is no JSON may have been complete where it was cut.
func begins(whole, got []sdktest.Call) bool {
	for i := range min(len(got), len(whole)) {
		g, w := got[i], whole[i]
		text, isText := strings.CutSuffix(g.Args, `"}`)
		if isText && (g.Name == "python" || g.Name == "bash") && strings.HasPrefix(w.Args, text) {
			g.Args = w.Args
		}
		if g != w {
			return false
		}
	}
	return true
}
