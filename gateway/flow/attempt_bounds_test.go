package flow_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/observe"
)

// TestReaskOfAnotherTarget: an attempt in which a model was corrected is none of another target's
// retries.
func TestReaskOfAnotherTarget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := turn{blocks: blocksOf("get_weather", `{\"city\": 7}`, 5).blocks}
		p := (&play{actors: map[string]*actor{"a": acts(bad, turn{err: unavailable}), "b": acts(turn{err: unavailable})},
			policies: map[string]gateway.Policy{"a": retries(5), "b": retries(1)},
			target:   gateway.Target{Mode: gateway.Repair, OnInvalid: gateway.ReaskInvalid}}).start(t)
		o := p.ask(t, t.Context())
		t.Log(o.steps())
		if n := len(p.actors["b"].bodies); n > 2 {
			t.Errorf("b was asked %d times, want 2 at most: one retry is allowed", n)
		}
	})
}

// TestLongNameOfATool: a model that makes up a name of a tool does not make a header that no client takes.
func TestLongNameOfATool(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("weather_", 8<<10)
	bad := turn{blocks: blocksOf(name, `{\"city\": \"Oslo\"}`, 5).blocks}
	good := turn{blocks: blocksOf("get_weather", `{\"city\": \"Oslo\"}`, 5).blocks}
	p := (&play{actors: map[string]*actor{"a": acts(bad, good)}, target: gateway.Target{Mode: gateway.Repair, OnInvalid: gateway.ReaskInvalid}}).start(t)
	o := p.ask(t, t.Context())
	h := http.Header{}
	observe.Headers(h, &o.summary, true)
	if o.steps() != "a first invalid_tool_call; a reask ok" {
		t.Errorf("got %s", o.steps())
	}
	for name, values := range h {
		if len(values[0]) > 2<<10 {
			t.Errorf("the header %s has %d bytes", name, len(values[0]))
		}
	}
}
