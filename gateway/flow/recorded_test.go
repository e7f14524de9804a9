package flow_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/chain/chaintest"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/wasm-parsers/all"
)

// hearing is a provider that remembers what it was sent.
type hearing struct {
	*scripted
	sent string
}

func (h *hearing) Chat(ctx context.Context, model string, r *gateway.Request) (gateway.Reply, error) {
	body := r.With(model, nil)
	h.sent = string(body.Join())
	if err := r.Announce(body); err != nil {
		return nil, err
	}
	return h.scripted.Chat(ctx, model, r)
}

// metered is a meter that remembers the last use.
type metered struct{ use gateway.Use }

func (m *metered) Begin(string, string, gateway.Purpose, int) error { return nil }
func (m *metered) Came(int)                                         {}
func (m *metered) Ended(u gateway.Use)                              { m.use = u }

// TestRecorded holds that good answers of providers, recorded by others, pass byte for byte with all parsers and guards,
// that nothing is said against them, and that their tokens are counted (testdata/recorded).
func TestRecorded(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/recorded/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil || len(archive.Files) != 2 {
				t.Fatal(len(archive.Files), err)
			}
			request := strings.TrimRight(string(archive.Files[0].Data), "\n")
			answer := strings.TrimRight(string(archive.Files[1].Data), "\n")
			s := &scripted{whole: true, blocks: []string{answer}}
			if strings.HasSuffix(archive.Files[1].Name, ".sse") {
				s = &scripted{blocks: strings.Split(answer, "\n\n")}
			}
			h, m := &hearing{scripted: s}, &metered{}
			out, resp, err := recorded(t, h, m, request)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimRight(withoutComments(out), "\n"); got != answer {
				t.Errorf("the client got\n%s\nand not\n%s", got, answer)
			}
			asked := !s.whole && !strings.Contains(request, "include_usage")
			if got := strings.Replace(h.sent, `stream_options":{"include_usage":true},"`, "", 1); h.sent != request && (!asked || got != request) {
				t.Errorf("the upstream got\n%s\nand not\n%s", h.sent, request)
			}
			if a := resp.Summary; a.Changed || a.FaultList() != "" || a.RepairList() != "" || a.Guard != nil && (a.Guard.Ghost || a.Guard.Contradiction) {
				t.Errorf("changed: %t, faults: %s, repairs: %s, guard: %+v", a.Changed, a.FaultList(), a.RepairList(), a.Guard)
			}
			if want, got := recordedUse(answer), [2]int{m.use.Usage.Input, m.use.Usage.Output}; got != want {
				t.Errorf("%v tokens are counted, and not %v", got, want)
			}
		})
	}
}

// recorded sends a request for any model through a gateway whose configuration says nothing but that all parsers read.
func recorded(t *testing.T, p gateway.Provider, m gateway.Meter, body string) (string, *gateway.Response, error) {
	t.Helper()
	var named struct{ Model string }
	if err := json.Unmarshal([]byte(body), &named); err != nil {
		t.Fatal(err)
	}
	target := gateway.Target{Provider: "p", Mode: gateway.Repair, Parsers: gateway.ParserSpec{Auto: true, Reasoning: true}, Reasoning: chain.Auto}
	g, err := flow.New(flow.Options{
		Providers:   map[string]gateway.Provider{"p": p},
		Routes:      map[string][]gateway.Target{named.Model: {target}},
		Parsers:     native{chaintest.Runner{Specs: all.Specs()}},
		RoutePolicy: reporting,
		Meters:      true,
		AsksUsage:   true,
	})
	if err != nil {
		t.Fatal(err)
	}
	req, err := gateway.ParseRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.Chat(gateway.WithMeter(t.Context(), m), req)
	if err != nil {
		return "", nil, err
	}
	out, err := drain(resp)
	return out, resp, err
}

// recordedUse is the count of tokens that an answer ends with.
func recordedUse(answer string) (use [2]int) {
	type usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	}
	for line := range strings.SplitSeq(answer, "\ndata: ") {
		var a struct {
			Usage *usage
			XGroq struct{ Usage *usage } `json:"x_groq"`
		}
		_ = json.NewDecoder(strings.NewReader(strings.TrimPrefix(line, "data: "))).Decode(&a)
		for _, u := range []*usage{a.XGroq.Usage, a.Usage} {
			if u != nil {
				use = [2]int{u.Prompt, u.Completion}
			}
		}
	}
	return use
}
