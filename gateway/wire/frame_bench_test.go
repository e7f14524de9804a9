package wire_test

import (
	"fmt"
	"testing"

	"github.com/callgate/callgate/gateway/wire"
)

// BenchmarkFrame looks at chunks of a stream: one after the other of the same shape, and with
// a field behind the text that changes with every one.
func BenchmarkFrame(b *testing.B) {
	const form = `{"id":"chatcmpl-8f2b1c","object":"chat.completion.chunk","created":1767225600,"model":"gpt-5","choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]%s}`
	words := []string{" the", " quick", " brown", " fox", ",", " and\\n"}
	for _, c := range []struct {
		name    string
		changes bool
	}{{"shape", false}, {"descent", true}} {
		var chunks [][]byte
		for i, w := range words {
			more := ""
			if c.changes {
				more = fmt.Sprintf(`,"obfuscation":"%d"`, i)
			}
			chunks = append(chunks, fmt.Appendf(nil, form, w, more))
		}
		b.Run(c.name, func(b *testing.B) {
			shape, frame := &wire.Shape{}, &wire.Frame{}
			for i := range b.N {
				data := chunks[i%len(chunks)]
				shape.Read(frame, data, data)
				if !frame.IsChunk() {
					b.Fatal("no chunk")
				}
				if _, ok := frame.Text(0); !ok {
					b.Fatal("no text")
				}
			}
			b.ReportAllocs()
		})
	}
}
