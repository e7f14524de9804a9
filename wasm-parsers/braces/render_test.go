package braces_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/braces"
)

// quotes are the quotes of the formats.
var quotes = map[string]string{"gemma4": `<|"|>`, "functiongemma": "<escape>"}

// TestRendered reads random arguments back that were written as a template does it.
func TestRendered(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4)) // a repeatable test
	for _, spec := range braces.Specs() {
		if spec.Heuristic { // it has no quotes
			continue
		}
		head, tail, _ := strings.Cut(spec.Example, "get_weather{")
		_, tail, _ = strings.Cut(tail, "}")
		sdktest.Rendered(t, spec, random, 150, func(name string, args []sdktest.Arg) string {
			var members []string
			for _, arg := range args {
				members = append(members, arg.Name+":"+written(t, arg.Value, quotes[spec.Name]))
			}
			return head + name + "{" + strings.Join(members, ",") + "}" + tail
		})
	}
}

// written is a value in the form of Gemma.
func written(t *testing.T, value any, quote string) string {
	t.Helper()
	switch v := value.(type) {
	case string:
		return quote + v + quote
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, written(t, item, quote))
		}
		return "[" + strings.Join(items, ",") + "]"
	case map[string]any:
		var members []string
		for key, item := range v {
			members = append(members, key+":"+written(t, item, quote))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	b, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
