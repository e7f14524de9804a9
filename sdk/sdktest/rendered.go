package sdktest

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

// Arg is an argument of a call that Rendered makes up. Its value is what a JSON
// package gives for an any.
type Arg struct {
	Name  string
	Value any
}

// Rendered makes up n calls of a tool that is offered with the types of their
// arguments, has write write each in the parser's format, as a model's chat template
// does it, and wants them back. Names and strings hold what formats stumble over.
func Rendered(tb testing.TB, spec sdk.Spec, random *rand.Rand, n int, write func(name string, args []Arg) string) {
	tb.Helper()
	for range n {
		tool := sdk.Tool{Name: "mcp__srv-" + randomText(random, "abc_", 1)}
		want := map[string]any{}
		var args []Arg
		for range random.IntN(5) {
			key := strings.TrimSpace(randomText(random, "abcXYZ_-.$@ []é", 1+random.IntN(8)))
			if key == "" || want[key] != nil {
				continue
			}
			value, types := randomValue(random, 2)
			want[key] = value
			tool.Params = append(tool.Params, sdk.Param{Name: key, Types: types})
			args = append(args, Arg{Name: key, Value: value})
		}
		input := write(tool.Name, args)
		calls := Calls(Stable(tb, spec, sdk.Options{Tools: []sdk.Tool{tool}}, input, sdk.Stop))
		var got map[string]any
		if len(calls) != 1 || calls[0].Name != tool.Name || json.Unmarshal([]byte(calls[0].Args), &got) != nil || !reflect.DeepEqual(got, want) {
			tb.Errorf("%s: %q gives the calls %q, want one of %s with %v", spec.Name, input, calls, tool.Name, want)
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
			object[randomText(random, "abc_", 1+random.IntN(3))], _ = randomValue(random, depth-1)
		}
		return object, abi.Object
	}
	return randomText(random, "ab \n\t\"'\\{}[]<>/:,é😀&;#0123", random.IntN(30)), abi.String
}

func randomText(random *rand.Rand, letters string, n int) string {
	runes := []rune(letters)
	var b strings.Builder
	for range n {
		b.WriteRune(runes[random.IntN(len(runes))])
	}
	return b.String()
}
