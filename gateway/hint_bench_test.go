package gateway_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// BenchmarkHints is a whole request of 32 KB with some 170 messages: what the look at its
// prefix adds, and a key or marks on top of that.
func BenchmarkHints(b *testing.B) {
	body := longConversation(2)
	for n := 4; len(body) < 32<<10; n += 2 {
		body = longConversation(n)
	}
	hinting := gateway.RoutePolicy{CacheHints: gateway.Repair}
	for _, row := range []struct {
		name   string
		policy gateway.RoutePolicy
		hints  gateway.HintKind
	}{{"off", gateway.RoutePolicy{}, gateway.NoHints}, {"history", hinting, gateway.NoHints},
		{"key", hinting, gateway.KeyHints}, {"parts", hinting, gateway.PartMarks}, {"members", hinting, gateway.MemberMarks}} {
		b.Run(row.name, func(b *testing.B) {
			g, err := gateway.New(gateway.Options{
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
				resp := chat(b, g, body)
				for _, _, err = resp.Next(); err == nil; _, _, err = resp.Next() {
				}
				if resp.Close(); (resp.Summary.Repairs["cache_hint"] > 0) != (row.hints != gateway.NoHints) {
					b.Fatalf("got the repairs %s", resp.Summary.RepairList())
				}
			}
		})
	}
}

func chat(b *testing.B, g *gateway.Gateway, body string) *gateway.Response {
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
