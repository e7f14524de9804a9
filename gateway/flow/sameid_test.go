package flow_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestSameIDWork gives all calls of an answer one id, as some servers do: what is done for four times as
// many calls is some four times as much.
func TestSameIDWork(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	args := strings.Repeat("x", 1<<10)
	call := func(zone int) string {
		return fmt.Sprintf(`{"index":%d,"id":"n","type":"function","function":{"name":"get_time","arguments":"{\"zone\":%d,\"x\":\"%s\"}"}}`, zone, zone, args)
	}
	end := block(0, `"delta":{},"finish_reason":"tool_calls"`)
	for name, blocks := range map[string]func(n int) []string{
		"a whole answer": func(n int) []string {
			calls := make([]string, n)
			for i := range calls {
				calls[i] = call(i)
			}
			return []string{`{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[` + strings.Join(calls, ",") + `]},"finish_reason":"tool_calls"}]}`}
		},
		"a stream": func(n int) (blocks []string) {
			for i := range n {
				blocks = append(blocks, block(0, `"delta":{"tool_calls":[`+call(i)+`]}`))
			}
			return append(blocks, end, done)
		},
	} {
		work := func(n int) uint64 {
			var before, after runtime.MemStats
			p := &scripted{whole: name == "a whole answer", blocks: blocks(n)}
			runtime.ReadMemStats(&before)
			if _, _, err := exchange(t, p, repair, request); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		work(10) // what is made once
		if few, many := work(100), work(400); many > 8*few {
			t.Errorf("%s: 100 calls take %d bytes, 400 take %d, want some four times as much", name, few, many)
		}
	}
}
