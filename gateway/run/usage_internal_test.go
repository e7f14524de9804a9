package run

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/steps"
)

func TestSumUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want string }{
		{`{"a":1,"b":{"c":2},"d":"x"}`, `{"b":{"c":3,"e":4},"a":5,"f":6}`, `{"a":6,"b":{"c":5,"e":4},"d":"x","f":6}`},
		{`{"a":null,"b":1}`, `{"a":2,"b":null}`, `{"a":2,"b":1}`},
		{`{"a":1.5}`, `{"a":2}`, `{"a":3.5}`},
		{`{"a":9223372036854775807}`, `{"a":1}`, `{"a":9.223372036854776e+18}`},
		{`{"a":-9223372036854775808}`, `{"a":-1}`, `{"a":-9.223372036854776e+18}`},
	} {
		got := sumUsage([]json.RawMessage{json.RawMessage(c.a), nil, json.RawMessage(c.b)})
		if string(got) != c.want {
			t.Errorf("%s and %s: got %s, want %s", c.a, c.b, got, c.want)
		}
	}
}

// TestSumUsageIsLinear holds that the usages of an upstream that counts thousands of things are added up in no time.
func TestSumUsageIsLinear(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		const some, factor = 200, 16
		sum := func(n int) func() {
			var a, b []string
			for i := range n {
				a, b = append(a, fmt.Sprintf(`"a%d":1`, i)), append(b, fmt.Sprintf(`"b%d":1`, i))
			}
			list := []json.RawMessage{json.RawMessage("{" + strings.Join(a, ",") + "}"), json.RawMessage("{" + strings.Join(b, ",") + "}")}
			return func() { sumUsage(list) }
		}
		steps.Linear(t, factor, sum(some), sum(some*factor))
	})
}
