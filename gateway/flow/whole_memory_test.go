//go:build !race

package flow_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// TestWholeAnswerMemory counts the bytes that are allocated for whole answers of 4 MB, from the
// upstream's bytes to the client's: the text is neither collected nor decoded whole, and what
// is read from it is there once, and once more as it goes out. (The race detector allocates.)
func TestWholeAnswerMemory(t *testing.T) {
	const size = 4 << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	call := `\n<tool_call>\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n</tool_call>`
	for name, tt := range map[string]struct {
		text string
		most float64 // bytes for a byte of the answer
	}{
		"prose":         {fill("The quick brown fox. "), 0.5},
		"escapes":       {fill(`\u0041`), 0.5},
		"JSON":          {fill(`{\"name\":\"x\",\"value\":[1,2,3]},\n`), 2},
		"<":             {fill("<"), 0.5},
		"[":             {fill("["), 3.5},
		`{"`:            {fill(`{\"`), 2},
		"white space":   {fill(`\n `), 1},
		"prose, a call": {fill("The quick brown fox. ") + call, 4.5},
		"a call, prose": {call + fill("The quick brown fox. "), 3.5},
		"escapes, call": {fill(`\u0041`) + call, 2.5},
	} {
		t.Run(name, func(t *testing.T) {
			allocated(t, "a call: "+call) // what is made once
			least := allocated(t, tt.text)
			for range 2 { // a collection in between empties the pools of buffers, which are made again
				least = min(least, allocated(t, tt.text))
			}
			taken := float64(least)/float64(len(tt.text)) - 1 // the upstream's bytes
			if t.Logf("%.2f bytes a byte", taken); taken > tt.most {
				t.Errorf("%.2f bytes were allocated for each byte of the answer, want at most %.1f", taken, tt.most)
			}
		})
	}
}

// allocated is how many bytes are allocated for a whole answer with a content, as JSON has it.
func allocated(t *testing.T, content string) uint64 {
	t.Helper()
	whole := &scripted{whole: true, blocks: []string{fmt.Sprintf(
		`{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"%s"},"finish_reason":"stop"}]}`, content)}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resp := open(t, whole, gateway.Target{Mode: gateway.Repair, Parsers: gateway.ParserSpec{Auto: true, Reasoning: true}}, request)
	out, err := reads(resp).next()
	runtime.ReadMemStats(&after)
	if err != nil || len(out) == 0 {
		t.Fatalf("got %d bytes and %v", len(out), err)
	}
	return after.TotalAlloc - before.TotalAlloc
}
