package flow_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/inflight"
)

// TestStructuredNoRoom has a good answer wait until it is complete, and more of its frames come than one
// request may keep: the memory is what is told, and the model is not asked for another answer.
func TestStructuredNoRoom(t *testing.T) {
	t.Parallel()
	for text, policy := range map[string]gateway.InvalidPolicy{"Os": gateway.RejectInvalid, "lo": gateway.ReaskInvalid, "Oslo": gateway.RejectInvalid} {
		var blocks []string
		piece := func(text string) {
			blocks = append(blocks, block(0, `"delta":{"content":"`+text+`"},"finish_reason":null`))
		}
		piece(`{\"degrees\":3,\"city\":\"`)
		for range 10_000 {
			piece(text)
		}
		piece(`\"}`)
		blocks = append(blocks, block(0, `"delta":{},"finish_reason":"stop"`), done)
		target := structuredTarget(policy)
		target.Provider = "p"
		g, err := flow.New(flow.Options{
			Providers: map[string]gateway.Provider{"p": &scripted{blocks: blocks}}, Routes: map[string][]gateway.Target{"m": {target}}, RoutePolicy: reporting,
		})
		if err != nil {
			t.Fatal(err)
		}
		req, err := gateway.ParseRequest([]byte(structured))
		if err != nil {
			t.Fatal(err)
		}
		req.Room = inflight.New(1 << 20).Claim()
		resp, err := g.Chat(t.Context(), req)
		if err == nil {
			_, err = drain(resp)
		}
		e, ok := errors.AsType[*gateway.Error](err)
		if !ok || e.Kind != gateway.TooLarge || !strings.Contains(e.Message, "limits.memory") {
			t.Errorf("%v: got %v, want that the answer needs too much memory", policy, err)
		}
	}
}
