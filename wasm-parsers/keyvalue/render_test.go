package keyvalue_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/keyvalue"
)

// writers print a call as the models' chat templates do it.
var writers = map[string]func(name string, keys, values []string) string{
	"glm45": func(name string, keys, values []string) string {
		b := "<tool_call>" + name + "\n"
		for i := range keys {
			b += "<arg_key>" + keys[i] + "</arg_key>\n<arg_value>" + values[i] + "</arg_value>\n"
		}
		return b + "</tool_call>"
	},
	"glm47": func(name string, keys, values []string) string {
		b := "<tool_call>" + name
		for i := range keys {
			b += "<arg_key>" + keys[i] + "</arg_key><arg_value>" + values[i] + "</arg_value>"
		}
		return b + "</tool_call>"
	},
	"hy_v3": func(name string, keys, values []string) string {
		b := "<tool_calls:opensource>\n<tool_call:opensource>" + name + "<tool_sep:opensource>\n"
		for i := range keys {
			b += "<arg_key:opensource>" + keys[i] + "</arg_key:opensource>\n<arg_value:opensource>" + values[i] + "</arg_value:opensource>\n"
		}
		return b + "</tool_call:opensource>\n</tool_calls:opensource>"
	},
	"ifm": func(name string, keys, values []string) string {
		b := "<ifm|tool_calls><ifm|tool_call>" + name
		for i := range keys {
			b += "<ifm|arg_key>" + keys[i] + "</ifm|arg_key><ifm|arg_value>" + values[i] + "</ifm|arg_value>"
		}
		return b + "</ifm|tool_call></ifm|tool_calls>"
	},
}

// TestRendered reads random arguments back that were written as a template does it.
func TestRendered(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4)) // a repeatable test
	for _, spec := range keyvalue.Specs() {
		write := writers[spec.Name]
		if write == nil {
			continue
		}
		sdktest.Rendered(t, spec, random, 150, func(name string, args []sdktest.Arg) string {
			var keys, values []string
			for _, arg := range args {
				keys, values = append(keys, arg.Name), append(values, written(t, arg.Value))
			}
			return write(name, keys, values)
		})
	}
}

// written is a string as it is, and anything else as JSON.
func written(t *testing.T, value any) string {
	t.Helper()
	if s, ok := value.(string); ok {
		return s
	}
	b, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
