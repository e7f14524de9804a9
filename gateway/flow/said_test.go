package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/contract"
	"github.com/callgate/callgate/wasm-parsers/all"
)

// TestChangesAreSaid has an upstream answer with the text of every case of every parser, whole and
// streamed. What the client gets is what the upstream sent, or the headers name a parser, a repair, a
// fault or a warning.
func TestChangesAreSaid(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../wasm-parsers/*/testdata/*/*.case")
	if err != nil {
		t.Fatal(err)
	}
	auto, specs, changed := new(planned), all.Specs(), 0
	for i, file := range files {
		dir := filepath.Dir(file)
		if i > 0 && dir == filepath.Dir(files[i-1]) {
			continue
		}
		cases, err := contract.ReadCases(dir)
		if err != nil {
			t.Fatal(err)
		}
		for name, source := range map[string]*planned{"auto": auto, filepath.Base(dir): {}} {
			source.Specs = specs
			target := gateway.Target{Provider: "p", Mode: gateway.Repair, Reasoning: chain.Auto, AllowEmpty: true, Parsers: gateway.ParserSpec{Auto: name == "auto", Reasoning: true}}
			if name != "auto" {
				target.Parsers.Names = []string{name}
			}
			from := &answering{}
			g, err := flow.New(flow.Options{
				Providers: map[string]gateway.Provider{"p": from}, Routes: map[string][]gateway.Target{"m": {target}},
				Parsers: source, RoutePolicy: reporting,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cases {
				for _, from.whole = range []bool{true, false} {
					from.text = c.Input
					s := answered(t, g, c.Options.Tools, from.whole)
					if s == nil || !s.Changed {
						continue
					}
					changed++
					if len(s.Parsers)+len(s.Repairs)+len(s.Faults)+len(s.Warnings) == 0 {
						t.Errorf("%s/%s, read by %s, whole %t: the answer was changed, and nothing says so: %q", dir, c.Name, name, from.whole, c.Input)
					}
				}
			}
		}
	}
	if changed < 5000 {
		t.Errorf("%d answers were changed, want more to tell anything", changed)
	}
}

// answered is what is said of an answer to a request that offers tools; nil if it failed.
func answered(t *testing.T, g *flow.Gateway, tools []abi.Tool, whole bool) *gateway.Summary {
	t.Helper()
	var offered []string
	for _, tool := range tools {
		offered = append(offered, `{"type":"function","function":{"name":"`+tool.Name+`"}}`)
	}
	r, err := gateway.ParseRequest(fmt.Appendf(nil, `{"model":"m","stream":%t,"messages":[],"tools":[%s]}`, !whole, strings.Join(offered, ",")))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.Chat(t.Context(), r)
	if err != nil {
		return nil
	}
	if _, err := drain(resp); err != nil {
		return nil
	}
	return resp.Summary
}

// answering is a provider that answers with a text.
type answering struct {
	text  string
	whole bool
}

func (a *answering) Chat(ctx context.Context, model string, r *gateway.Request) (gateway.Reply, error) {
	if !a.whole {
		return stream("stop", a.text).Chat(ctx, model, r)
	}
	text, err := json.Marshal(a.text)
	if err != nil {
		return nil, err
	}
	return (&scripted{whole: true, blocks: []string{`{"choices":[{"index":0,"message":{"role":"assistant","content":` + string(text) + `},"finish_reason":"stop"}]}`}}).Chat(ctx, model, r)
}

// planned is a ParserSource that plans once.
type planned struct {
	native
	plan *chain.Plan
}

func (p *planned) Plan(ctx context.Context, spec gateway.ParserSpec, model string) (_ *chain.Plan, _ gateway.ParserSession, err error) {
	if p.plan == nil {
		p.plan, _, err = p.native.Plan(ctx, spec, model)
	}
	return p.plan, p.native, err
}
