package keyvalue_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
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
		for range 150 {
			tool := sdk.Tool{Name: "mcp__srv-" + text(random, "abc_", 1)}
			want := map[string]any{}
			var keys, values []string
			for range random.IntN(5) {
				key := text(random, "abcXYZ_-.$@ []é", 1+random.IntN(8))
				if key = strings.TrimSpace(key); key == "" || want[key] != nil {
					continue
				}
				value, types := randomValue(random, 2)
				want[key] = value
				tool.Params = append(tool.Params, sdk.Param{Name: key, Types: types})
				keys, values = append(keys, key), append(values, written(t, value))
			}
			input := write(tool.Name, keys, values)
			got := calls(sdktest.Stable(t, spec, sdk.Options{Tools: []sdk.Tool{tool}}, input, sdk.Stop))
			var args map[string]any
			if len(got) != 1 || json.Unmarshal([]byte(strings.TrimPrefix(got[0], tool.Name)), &args) != nil || !reflect.DeepEqual(args, want) {
				t.Errorf("%s: %q gives %q", spec.Name, input, got)
			}
		}
	}
}

// randomValue is a value and the type that a schema has for it.
func randomValue(random *rand.Rand, depth int) (any, sdk.Types) {
	switch n := random.IntN(8); {
	case n == 0:
		return float64(random.IntN(1e6)) - 5e5, abi.Integer
	case n == 1:
		return random.Float64() * 100, abi.Number
	case n == 2:
		return random.IntN(2) == 0, abi.Boolean
	case n == 3 && depth > 0:
		list := []any{}
		for range random.IntN(3) {
			value, _ := randomValue(random, depth-1)
			list = append(list, value)
		}
		return list, abi.Array
	case n == 4 && depth > 0:
		object := map[string]any{}
		for range random.IntN(3) {
			object[text(random, "abc_", 1+random.IntN(3))], _ = randomValue(random, depth-1)
		}
		return object, abi.Object
	}
	return text(random, "ab \n\t\"'\\{}[]<>/:,é😀&;#0123", random.IntN(30)), abi.String
}

func text(random *rand.Rand, letters string, n int) string {
	runes := []rune(letters)
	var b strings.Builder
	for range n {
		b.WriteRune(runes[random.IntN(len(runes))])
	}
	return b.String()
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
