package flow_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/chain/chaintest"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/wasm-parsers/all"
)

// renamed reads blocks with a gateway that has a configured name for reasoning.
func renamed(t *testing.T, field string, p *scripted) (string, *gateway.Response) {
	t.Helper()
	target := repair
	target.Provider = "p"
	g, err := flow.New(flow.Options{
		Providers: map[string]gateway.Provider{"p": p}, Routes: map[string][]gateway.Target{"m": {target}},
		Parsers: native{chaintest.Runner{Specs: all.Specs()}}, ReasoningField: field,
	})
	if err != nil {
		t.Fatal(err)
	}
	req, err := gateway.ParseRequest([]byte(strings.Replace(request, `"stream":true`, fmt.Sprintf(`"stream":%t`, !p.whole), 1)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.Chat(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	var out strings.Builder
	for in := reads(resp); ; {
		b, err := in.next()
		if err != nil {
			if err != io.EOF {
				t.Fatal(err)
			}
			return out.String(), resp
		}
		out.Write(b)
	}
}

// TestReasoningFieldIsRenamed checks that a client finds an upstream's reasoning
// under the configured name, that all else of the bytes stays, and that it is said.
func TestReasoningFieldIsRenamed(t *testing.T) {
	t.Parallel()
	const chunk = `data: {"id":"1", "choices":[{"index":0,"delta":{"reasoning" : "a \"reasoning\"","x":1}}]}`
	const both = `data: {"id":"1","choices":[{"index":0,"delta":{"reasoning":"a","reasoning_content":"a"}}]}`
	end := `data: {"id":"1","choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}`
	stream := func() *scripted { return &scripted{blocks: []string{chunk, both, end, "data: [DONE]"}} }

	got, resp := renamed(t, "reasoning_content", stream())
	want := strings.Replace(chunk, `"reasoning" :`, `"reasoning_content" :`, 1) + "\n\n" + both + "\n\n" + end
	if !strings.HasPrefix(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if resp.Summary.RepairList() != "reasoning_field=1" || !resp.Summary.Changed {
		t.Errorf("got repairs %q, want one of the field", resp.Summary.RepairList())
	}
	for _, field := range []string{"", "reasoning"} {
		got, resp = renamed(t, field, stream())
		if !strings.HasPrefix(got, chunk) || field == "" && resp.Summary.Changed {
			t.Errorf("%q: got %s, want the upstream's bytes", field, got)
		}
	}
	whole := `{"choices":[{"index":0,"message":{"content":"b","reasoning":"a"},"finish_reason":"stop"}]}`
	if got, _ := renamed(t, "reasoning_content", &scripted{blocks: []string{whole}, whole: true}); got != strings.Replace(whole, `"reasoning"`, `"reasoning_content"`, 1) {
		t.Errorf("got %s, want the name changed", got)
	}
}

// TestUpstreamSplitsReasoning checks that text is not taken for reasoning where the
// upstream has split that off already, in either field.
func TestUpstreamSplitsReasoning(t *testing.T) {
	t.Parallel()
	target := repair
	target.Reasoning = chain.Open
	for _, field := range []string{"reasoning", "reasoning_content"} {
		blocks := []string{
			`data: {"choices":[{"index":0,"delta":{"` + field + `":"Hm."}}]}`,
			`data: {"choices":[{"index":0,"delta":{"content":"It is noon."}}]}`,
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "data: [DONE]",
		}
		got, _, err := exchange(t, &scripted{blocks: blocks}, target, request)
		if want := strings.Join(blocks, "\n\n") + "\n\n"; err != nil || got != want {
			t.Errorf("%s: got %s, %v, want the upstream's bytes", field, got, err)
		}
		whole := `{"choices":[{"index":0,"message":{"content":"It is noon.","` + field + `":"Hm."},"finish_reason":"stop"}]}`
		if got, _, err := exchange(t, &scripted{blocks: []string{whole}, whole: true}, target, request); err != nil || got != whole {
			t.Errorf("%s: got %s, %v, want the upstream's bytes", field, got, err)
		}
	}
}
