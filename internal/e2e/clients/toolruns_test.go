package clients_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestToolRunDefaults has the gateway run five rounds of two calls each for the snippets' one question: each
// client of the Responses and the Messages API reads them as one answer, whatever form the model writes
// its calls in. None of the calls is the client's to make.
func TestToolRunDefaults(t *testing.T) {
	t.Parallel()
	c := newConfig()
	verdicts, args := map[string]verdict{}, map[string][]string{}
	all := defaults()
	for _, sn := range all {
		for _, format := range []string{"native", "hermes", "qwen3_coder", "harmony"} {
			for _, mode := range sn.modes {
				if strings.HasPrefix(mode, "conversation") { // which looks for its own items
					continue
				}
				model := strings.ReplaceAll("run-"+sn.name+"-"+format+"-"+mode, " ", "-")
				verdicts[model] = gatewayTools(format, true)(t, c, model)
				args[sn.name] = append(args[sn.name], mode, model)
			}
		}
	}
	g := serve(t, c)
	for _, sn := range all {
		t.Run(sn.name, func(t *testing.T) {
			t.Parallel()
			got := answersOf(t, sn.run(t, slices.Concat([]string{g.URL + sn.base}, args[sn.name])))
			for pair := range slices.Chunk(args[sn.name], 2) {
				model := pair[1]
				t.Run(model, func(t *testing.T) {
					a := got[model]
					checkRun(t, sn.name, pair[0], a)
					if !strings.HasSuffix(a.Text, "All done.") || strings.Count(a.Text, "All done.") != 1 {
						t.Errorf("got %s, want one answer", show(a))
					}
					verdicts[model](t, client{})
					if t.Failed() {
						t.Logf("the gateway's log:\n%s", g.Lines(t, fmt.Sprintf(`"model":%q`, model)))
					}
				})
			}
		})
	}
}

// checkRun checks what a client shows of calls that it does not make: nothing, or, in the AI SDK, all of them
// as calls that are made already.
func checkRun(t *testing.T, client, mode string, a answer) {
	t.Helper()
	if client != "ai_sdk" {
		if len(a.Turns) > 0 {
			t.Errorf("got calls in %s, want none", show(a))
		}
		return
	}
	if len(a.Turns) != 1 || len(a.Turns[0]) != 2*toolRounds {
		t.Fatalf("got %s, want one step with %d calls", show(a), 2*toolRounds)
	}
	uniqueIDs(t, map[string]bool{}, a.Turns[0])
	for i, c := range a.Turns[0] {
		want := fmt.Sprintf("%d %d", i/2, i%2)
		// Of a stream of the Messages API the AI SDK reads no input of such a call.
		if !strings.HasSuffix(c.Name, "search") || c.Arguments["q"] != want && mode != "anthropic streamed" {
			t.Errorf("call %d: got %s, want a search for %q", i, show(c), want)
		}
	}
}
