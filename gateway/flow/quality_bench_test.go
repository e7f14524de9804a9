package flow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/quality"
)

// BenchmarkQuality is what a request with tools costs whose answer calls one, where nobody counts that,
// where it is counted, and where it also says which target is asked. The differences are what quality
// costs.
func BenchmarkQuality(b *testing.B) {
	const head = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":`
	answer := []byte(head + `{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"get_time","arguments":"{\"zone\":\"UTC\"}"}}]},"finish_reason":null}]}` + "\n\n" +
		head + `{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n")
	body := []byte(fmt.Sprintf(`{"model":"m","stream":true,"messages":[{"role":"system","content":%q},{"role":"user","content":"What time is it?"}],`+
		`"tools":[{"type":"function","function":{"name":"get_time","parameters":{"type":"object","properties":{"zone":{"type":"string"}}}}}]}`, strings.Repeat("Be kind. ", 200)))
	for name, mode := range map[string]gateway.Mode{"off": gateway.Off, "report": gateway.Report, "weight": gateway.Repair} {
		b.Run(name, func(b *testing.B) {
			p := &reading{body: answer}
			g, err := flow.New(flow.Options{
				Providers:   map[string]gateway.Provider{"p": p, "q": p},
				Routes:      map[string][]gateway.Target{"m": {{Provider: "p", Mode: gateway.Repair, Weight: 1}, {Provider: "q", Mode: gateway.Repair, Weight: 1}}},
				RoutePolicy: flow.RoutePolicy{Quality: mode}, Quality: quality.New(quality.Options{}),
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				req, err := gateway.ParseRequest(body)
				if err != nil {
					b.Fatal(err)
				}
				resp, err := g.Chat(context.Background(), req)
				if err != nil {
					b.Fatal(err)
				}
				for {
					if _, err := resp.Next(); err != nil {
						if !errors.Is(err, io.EOF) {
							b.Fatal(err)
						}
						break
					}
				}
				resp.Close()
			}
		})
	}
}
