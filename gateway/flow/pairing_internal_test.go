package flow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/wire"
)

// TestCollectedCalls holds that of an answer with calls without end some are noted: looking for the one that an entry
// goes on with takes time for each.
func TestCollectedCalls(t *testing.T) {
	t.Parallel()
	var entries strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&entries, `,{"index":%d}`, i)
	}
	data := []byte(`{"choices":[{"index":0,"message":{"tool_calls":[{"function":{"name":"get_time","arguments":"{}"}}` + entries.String() + `]}}]}`)
	var c callCollector
	c.frame(&wire.Frame{Data: data, Raw: data, Whole: true})
	if n := len(c.calls); n == 0 || n > maxNoted/noted || string(c.calls[0].name) != "get_time" {
		t.Errorf("got %d calls, want at most %d with the first", n, maxNoted/noted)
	}
}
