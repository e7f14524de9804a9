package clients_test

import (
	"encoding/json"
	"testing"

	"github.com/callgate/callgate/gateway/formats"
	"github.com/callgate/callgate/providers/providertest/scripted"
)

// scenario is what stands behind a model of the gateway, and what clients must get
// of it.
type scenario struct {
	name string
	// streams says that there is only something to see in a stream.
	streams bool
	// retried says that an SDK which repeats requests is to do so.
	retried bool
	// shape makes the job of a client another than the usual one.
	shape func(t *testing.T, j *job)
	// serve starts the upstreams and adds the model to the configuration.
	serve func(t *testing.T, c *config, model string) verdict
	want  []turn
}

func scenarios() []scenario {
	var all []scenario
	for _, v := range vendors() {
		all = append(all, scenario{name: v.name, serve: alone(v), want: scriptedTurns()})
		if v.name != moonshot().name {
			all = append(all, scenario{name: "moonshot then " + v.name, serve: moonshotThen(v), want: scriptedTurns()})
		}
	}
	for _, format := range []string{"hermes", "qwen3_coder"} {
		all = append(all,
			scenario{name: "text " + format, serve: text(format, format), want: scriptedTurns()},
			scenario{name: "text " + format + " unparsed", serve: text(format, "none"), want: unparsed(format)})
	}
	for _, model := range []string{"hermes", "broken_args", "wrong_index", "missing_id"} {
		all = append(all, scenario{name: "demo " + model, serve: demo(model), want: demoTurns()})
	}
	all = append(all, promptedScenarios()...)
	all = append(all, toolScenarios()...)
	all = append(all, guardScenarios()...)
	return append(all,
		scenario{name: "retried by the gateway", want: failed(503, "upstream_overloaded", "overloaded"),
			// The answer has x-should-retry: false.
			serve: unavailable(1, func(c client) int {
				if c.repeats != nil { // the header means nothing to it
					return 2 * (1 + c.retries)
				}
				return 2
			})},
		scenario{name: "retried by the SDK", retried: true, want: failed(503, "upstream_overloaded", "overloaded"),
			serve: unavailable(0, func(c client) int { return 1 + c.retries })},
		scenario{name: "error in a stream", streams: true, want: failed(0, "internal_error", "The demo failed while it answered."),
			serve: demo("late_error")},
		scenario{name: "cut stream", streams: true, want: failed(0, "upstream_cut", "ended in mid-stream"),
			serve: demo("cut")},
	)
}

// scriptedTurns are what the vendors' servers say.
func scriptedTurns() []turn {
	counted := &usage{100, 20, 120}
	note := scripted.Result("get_weather") + ", " + scripted.Result("get_time")
	return []turn{
		{Finish: "tool_calls", Usage: counted, Calls: bothCalls()},
		{Finish: "tool_calls", Usage: counted, Calls: []call{{Name: "book", Arguments: map[string]any{"city": "Oslo", "note": note}}}},
		{Finish: "stop", Usage: counted, Content: "Done: " + scripted.Result("book") + "."},
	}
}

// unparsed is the first of the turns as a text: an app sees no calls in it.
func unparsed(format string) []turn {
	f, _ := formats.Find(format) // the server is served in it
	return []turn{{Finish: "stop", Usage: &usage{100, 20, 120}, Content: f.Write(formats.Turn{Calls: []formats.Call{
		{Name: "get_weather", Args: []formats.Arg{{Key: "city", Value: json.RawMessage(`"Oslo"`)}}}, {Name: "get_time"},
	}})}}
}

// demoTurns are what the demo says to the same prompt. It counts tokens of its own.
func demoTurns() []turn {
	return []turn{
		{Finish: "tool_calls", Content: "Let me check.", Calls: bothCalls()},
		{Finish: "stop", Content: "Here is what I found: " + scripted.Result("get_weather") + "; " + scripted.Result("get_time")},
	}
}

func bothCalls() []call {
	return []call{{Name: "get_weather", Arguments: map[string]any{"city": "Oslo"}}, {Name: "get_time", Arguments: map[string]any{}}}
}

// failed is a job that an error ends at once. The message must have the text in it.
func failed(status int, code, says string) []turn {
	return []turn{{Error: &failure{Status: status, Code: code, Message: says}}}
}
