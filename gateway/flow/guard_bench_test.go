package flow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
)

// longConversation is a request of n messages: a user's, then rounds of a call and its
// result, all of them new.
func longConversation(n int) string {
	var b strings.Builder
	b.WriteString(`[{"role":"system","content":"You are a careful assistant."},{"role":"user","content":"Read all of the files and say what is in them."}`)
	for i := range (n - 2) / 2 {
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"place %d\"}"}}]}`, i, i)
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"call_%d","content":"{\"place\":%d,\"title\":\"Number %d\",\"text\":\"%s\"}"}`, i, i, i, strings.Repeat("It rains. ", 12))
	}
	b.WriteString("]")
	return strings.Replace(request, `"messages":[]`, `"messages":`+b.String(), 1)
}

// BenchmarkLongConversation is a whole request with 5,000 messages, of some 1.3 MB: what
// the guards that a configuration has by default add to it. The aim is less than 5 ms.
func BenchmarkLongConversation(b *testing.B) {
	body := longConversation(5000)
	for _, row := range []struct {
		name   string
		policy flow.RoutePolicy
	}{{"off", flow.RoutePolicy{}}, {"report", reporting}} {
		b.Run(row.name, func(b *testing.B) {
			g, err := flow.New(flow.Options{
				Providers: map[string]gateway.Provider{"p": stream("stop", "I have read them all.")},
				Routes:    map[string][]gateway.Target{"m": {{Provider: "p", Mode: gateway.Repair}}}, RoutePolicy: row.policy,
			})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				req, err := gateway.ParseRequest([]byte(body))
				if err != nil {
					b.Fatal(err)
				}
				resp, err := g.Chat(b.Context(), req)
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = resp.Next()
				}
				resp.Close()
			}
		})
	}
}
