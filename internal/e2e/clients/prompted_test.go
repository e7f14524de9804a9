package clients_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/formats"
	demomodels "github.com/callgate/callgate/providers/demo"
	"github.com/callgate/callgate/providers/providertest/scripted"
)

// promptedFormats are those of the demo's models without support for tools.
func promptedFormats() []string {
	var formats []string
	for _, name := range demomodels.NoTools() {
		format := strings.TrimPrefix(name, "no_tools/")
		// The gateway introduces the results of these in words of its own. The demo's
		// models read what vLLM's templates for them print, {"output": …}.
		if format != "llama3_json" && format != "pythonic" {
			formats = append(formats, format)
		}
	}
	return formats
}

// promptedScenarios have an upstream that refuses requests with tools. With the tools in
// the prompt clients get calls, and without that the refusal, in every format: nothing
// but the prompt makes the difference.
func promptedScenarios() []scenario {
	var all []scenario
	for _, format := range promptedFormats() {
		all = append(all,
			scenario{name: "prompted " + format, shape: askAgain, serve: withoutTools(format, "prompted"), want: promptedTurns(format)},
			scenario{name: "not prompted " + format, shape: askAgain, serve: withoutTools(format, "native"),
				want: failed(http.StatusBadRequest, "", `"auto" tool choice requires --enable-auto-tool-choice`)},
		)
	}
	return all
}

// askAgain has the user ask something else where the first results are there.
func askAgain(_ *testing.T, j *job) { j.Then = []string{"And in Bergen?"} }

// withoutTools has a model of the demo behind a model that knows nothing of tools.
func withoutTools(format, tools string) func(t *testing.T, c *config, model string) verdict {
	return func(_ *testing.T, c *config, model string) verdict {
		c.Providers[model] = map[string]any{"type": "demo"}
		c.route(model, target{Provider: model, Model: "no_tools/" + format, Parser: format, Tools: tools})
		return func(*testing.T, client) {}
	}
}

// promptedTurns are two rounds of calls and an answer. The demo complains in place of
// each if it does not find the tools, its calls or their results in the format's form.
func promptedTurns(format string) []turn {
	content := "Let me check."
	if f, ok := formats.Find(format); ok && f.Silent {
		content = "" // beside calls
	}
	return []turn{
		{Finish: "tool_calls", Content: content, Calls: bothCalls()},
		{Finish: "tool_calls", Content: content, Calls: []call{{Name: "get_weather", Arguments: map[string]any{"city": "Bergen"}}}},
		{Finish: "stop", Content: "Here is what I found: " + scripted.Result("get_weather")},
	}
}
