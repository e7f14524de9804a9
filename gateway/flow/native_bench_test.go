package flow_test

import (
	"fmt"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// BenchmarkNative is what a frame of an upstream's own call costs, and one of plain
// text beside which tools were offered: with nobody looking, and where calls are
// repaired.
func BenchmarkNative(b *testing.B) {
	const frames = 1000
	const head = `data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1700000000,"model":"m-1","choices":[{"index":0,"delta":`
	const tail = `,"logprobs":null,"finish_reason":null}]}`
	calls, broken, text := &scripted{}, &scripted{}, &scripted{}
	calls.blocks = append(calls.blocks, head+`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"get_time","arguments":"{\"text\": \""}}]}`+tail)
	broken.blocks = append(broken.blocks, head+`{"role":"assistant","content":null,"tool_calls":[{"index":1,"id":"a","type":"function","function":{"name":"get_time","arguments":"{\"text\": \""}}]}`+tail)
	for range frames {
		calls.blocks = append(calls.blocks, head+`{"tool_calls":[{"index":0,"function":{"arguments":" word"}}]}`+tail)
		broken.blocks = append(broken.blocks, head+`{"tool_calls":[{"index":1,"function":{"arguments":" word"}}]}`+tail)
		text.blocks = append(text.blocks, head+`{"content":" word"}`+tail)
	}
	calls.blocks = append(calls.blocks, head+`{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}`+tail)
	broken.blocks = append(broken.blocks, head+`{"tool_calls":[{"index":1,"function":{"arguments":"\"}"}}]}`+tail)
	for _, bb := range []struct {
		name   string
		from   *scripted
		finish string
	}{{"calls", calls, "tool_calls"}, {"broken", broken, "tool_calls"}, {"text", text, "stop"}} {
		bb.from.blocks = append(bb.from.blocks, head+fmt.Sprintf(`{},"finish_reason":%q}]}`, bb.finish), done)
		for _, mode := range []gateway.Mode{gateway.Off, gateway.Repair} {
			b.Run(bb.name+"/"+mode.String(), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := exchange(b, bb.from, gateway.Target{Mode: mode}, request); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/frames, "ns/frame")
			})
		}
	}
}
