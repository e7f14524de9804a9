package examples_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/contract"
	"github.com/callgate/callgate/sdk/sdktest"
)

// updating reports whether the flag of sdktest, -update, is there: the events are written anew.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// TestTexts lets the gateway's own reader find the calls in whole answers: what stands
// before, between and behind them is the answer, however it was cut.
func TestTexts(t *testing.T) {
	t.Parallel()
	const dir = "cases/texts"
	cases := sdktest.Cases(t, dir)
	inEach(t, func(t *testing.T, wasm []byte) {
		h := host(t, wasm)
		for i := range cases {
			c := &cases[i]
			got := answer(t, h, c, []string{c.Input})
			if updating() {
				if err := os.WriteFile(filepath.Join(dir, c.Name+contract.Extension), []byte(c.File(got)), 0o600); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if got != c.Events {
				t.Errorf("%s: %s\n%q gives:\n%s\nwant:\n%s", c.Name, c.Why, c.Input, got, c.Events)
			}
			for _, pieces := range contract.Cuts(c.Input) {
				if cut := answer(t, h, c, pieces); cut != got {
					t.Fatalf("%s depends on the cut\n%q gives:\n%s\nin one piece:\n%s", c.Name, pieces, cut, got)
				}
			}
		}
	})
}

// answer reads an answer in pieces as the gateway does, and gives the events and what the
// gateway would warn of.
func answer(t *testing.T, h *plugins.Host, c *contract.Case, pieces []string) string {
	t.Helper()
	session := h.Session()
	defer session.Close()
	p := h.Parsers()[0]
	plan := chain.NewPlan([]chain.Candidate{chain.NewCandidate(&p.Parser)}, chain.PlanOptions{})
	reader := plan.New(chain.Runs(session), chain.Options{Tools: func() []abi.Tool { return c.Options.Tools }})
	defer reader.Close()
	var events []abi.Event
	for _, piece := range pieces {
		events = append(events, reader.Feed(t.Context(), []byte(piece))...)
	}
	events = append(events, reader.Finish(t.Context(), c.Reason)...)
	text := strings.ReplaceAll(contract.Format(contract.Join(events)), wire.Void.String()+"\n", "void\n")
	for _, w := range reader.Report().Warnings {
		text += "warning " + w + "\n"
	}
	return text
}
