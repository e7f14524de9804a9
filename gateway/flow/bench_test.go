package flow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// BenchmarkParseRequest is what a request costs before it goes upstream.
func BenchmarkParseRequest(b *testing.B) {
	for _, kb := range []int{1, 16, 256} {
		text := strings.Repeat("The quick brown fox jumps over the lazy dog.\\n", kb*1024/46)
		body := []byte(fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"%s"}],"temperature":0.7}`, text))
		b.Run(fmt.Sprintf("%dKB", kb), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				req, err := gateway.ParseRequest(body)
				if err != nil {
					b.Fatal(err)
				}
				req.With("other", nil).Join()
			}
		})
	}
}

// BenchmarkChunk is what a streamed chunk costs that holds nothing to parse.
func BenchmarkChunk(b *testing.B) {
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = " word"
	}
	s := stream("stop", texts...)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := exchange(b, s, repair, request); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/chunk")
}
