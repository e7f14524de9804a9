package flow_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
)

// BenchmarkHints is a whole request of 32 KB with some 170 messages: what the look at its
// prefix adds, and a key or marks on top of that.
func BenchmarkHints(b *testing.B) {
	body := longConversation(2)
	for n := 4; len(body) < 32<<10; n += 2 {
		body = longConversation(n)
	}
	hinting := flow.RoutePolicy{CacheHints: gateway.Repair}
	for _, row := range []struct {
		name   string
		policy flow.RoutePolicy
		hints  gateway.HintKind
	}{{"off", flow.RoutePolicy{}, gateway.NoHints}, {"history", hinting, gateway.NoHints},
		{"key", hinting, gateway.KeyHints}, {"parts", hinting, gateway.PartMarks}, {"members", hinting, gateway.MemberMarks}} {
		b.Run(row.name, func(b *testing.B) {
			g, err := flow.New(flow.Options{
				Providers: map[string]gateway.Provider{"p": stream("stop", "I have read them all.")},
				Policies:  map[string]gateway.Policy{"p": {Hints: row.hints}},
				Routes:    map[string][]gateway.Target{"m": {{Provider: "p", Mode: gateway.Repair}}}, RoutePolicy: row.policy,
			})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				resp := chatOnce(b, g, body)
				for err = nil; err == nil; {
					_, err = resp.Next()
				}
				if resp.Close(); (resp.Summary.Repairs["cache_hint"] > 0) != (row.hints != gateway.NoHints) {
					b.Fatalf("got the repairs %s", resp.Summary.RepairList())
				}
			}
		})
	}
}

func chatOnce(b *testing.B, g *flow.Gateway, body string) *gateway.Response {
	b.Helper()
	req, err := gateway.ParseRequest([]byte(strings.Clone(body)))
	if err != nil {
		b.Fatal(err)
	}
	resp, err := g.Chat(b.Context(), req)
	if err != nil {
		b.Fatal(err)
	}
	return resp
}
