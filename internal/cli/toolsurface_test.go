package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/protocol/messages/messagestest"
	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
)

// ranWords are the items of a response in a few words.
func ranWords(r responsestest.Object) (list []string) {
	output, _ := r["output"].([]any)
	for _, o := range output {
		item := o.(map[string]any)
		said := fmt.Sprint(item["type"])
		switch item["type"] {
		case "message":
			said = strings.TrimSpace(item["content"].([]any)[0].(map[string]any)["text"].(string))
		case "mcp_list_tools":
			said += fmt.Sprintf(" %d", len(item["tools"].([]any)))
		default:
			said += fmt.Sprintf(" %v", item["name"])
			if item["error"] != nil {
				said += " failed"
			}
		}
		list = append(list, said)
	}
	return list
}

// TestToolRunResponses has five rounds of calls by the Responses API, over native calls and calls in
// text, whole and streamed: one response with the items of all of them, and a next turn that goes on
// from it with the calls by the ids that the upstream has given.
func TestToolRunResponses(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"native", "hermes", "qwen3_coder", "harmony"} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %v", format, stream), func(t *testing.T) {
				t.Parallel()
				shop := newToolShop(t)
				parser := format
				if format == "native" {
					parser = "none"
				}
				url, bodies := script(t, format, func(results int, _ received) (string, []modelCall) {
					if n := results / 2; n < 5 {
						return fmt.Sprintf("Step %d.", n+1), []modelCall{
							{fmt.Sprintf("call_a%d", n), "shop__search", fmt.Sprintf(`{"q":"x%d"}`, n)}, {fmt.Sprintf("call_b%d", n), "shop__order", fmt.Sprintf(`{"item":"y%d"}`, n)}}
					}
					return "All done.", nil
				})
				g := serve(t, shop.config(url, "m", parser, ""))
				first, _ := g.judged(t, fmt.Sprintf(`{"model":"m","stream":%v,"input":"order them","tools":[{"type":"mcp","server_label":"shop","require_approval":"never"}]}`, stream), stream)
				want := []string{"mcp_list_tools 2"}
				for n := range 5 {
					want = append(want, fmt.Sprintf("Step %d.", n+1), "mcp_call search", "mcp_call order")
				}
				if got := ranWords(first); !slices.Equal(got, append(want, "All done.")) {
					t.Errorf("got %q", got)
				}
				if u := first["usage"].(map[string]any); u["total_tokens"] != 660.0 {
					t.Errorf("got the usage %v, want that of six rounds", u)
				}
				if n := len(shop.made()); n != 10 {
					t.Errorf("got %d calls, want 10", n)
				}
				// The next turn lists nothing again, and runs nothing again.
				second, _ := g.judged(t, fmt.Sprintf(`{"model":"m","stream":%v,"previous_response_id":%q,"input":"thanks","tools":[{"type":"mcp","server_label":"shop"}]}`, stream, first["id"]), stream)
				if got := ranWords(second); !slices.Equal(got, []string{"All done."}) || len(shop.made()) != 10 {
					t.Errorf("got %q and %d calls", got, len(shop.made()))
				}
				last := bodies()[len(bodies())-1]
				if strings.Count(last, `"role":"tool"`) != 10 || format == "native" && (!strings.Contains(last, `"tool_call_id":"call_b4"`) || !strings.Contains(last, `"name":"shop__order"`)) {
					t.Errorf("the next turn has not what ran before: %s", last)
				}
				items := g.call(200, "GET", "/v1/responses/"+first["id"].(string)+"?include[]=reasoning.encrypted_content", "")
				if got := len(items["output"].([]any)); got != len(want)+1 {
					t.Errorf("got %d items from the store, want %d", got, len(want)+1)
				}
			})
		}
	}
}

// TestToolRunMessages is the same by the Messages API, in one turn.
func TestToolRunMessages(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		t.Run(fmt.Sprint(stream), func(t *testing.T) {
			t.Parallel()
			shop := newToolShop(t)
			url, bodies := script(t, "native", func(results int, _ received) (string, []modelCall) {
				if n := results / 2; n < 3 {
					return fmt.Sprintf("Step %d.", n+1), []modelCall{{fmt.Sprintf("call_a%d", n), "shop__search", fmt.Sprintf(`{"q":"x%d"}`, n)}, {fmt.Sprintf("call_b%d", n), "shop__order", `{"item":"y"}`}}
				}
				return "All done.", nil
			})
			g := serve(t, shop.config(url, "m", "none", ""))
			head := fmt.Sprintf(`{"model":"m","max_tokens":99,"stream":%v,"mcp_servers":[{"type":"url","url":"callgate","name":"shop"}],"tools":[{"type":"mcp_toolset","mcp_server_name":"shop"}],"messages":[{"role":"user","content":"order them"}`, stream)
			ask := func(body string) *messagestest.Message {
				r := g.messages(body)
				check := messagestest.Whole
				if stream {
					check = messagestest.Stream
				}
				m, err := check([]byte(r.body))
				if err != nil || r.status != http.StatusOK {
					t.Fatalf("status %d, %v in\n%s", r.status, err, r.body)
				}
				return m
			}
			m := ask(head + "]}")
			var kinds []string
			for _, b := range m.Content {
				kinds = append(kinds, b.Type)
			}
			uses, results := 0, 0
			for _, k := range kinds {
				switch k {
				case "mcp_tool_use":
					uses++
				case "mcp_tool_result":
					results++
				}
			}
			if uses != 6 || results != 6 || *m.StopReason != "end_turn" || len(shop.made()) != 6 {
				t.Errorf("got %q, the stop reason %s and %d calls", kinds, *m.StopReason, len(shop.made()))
			}
			content, _ := json.Marshal(m.Content)
			again := ask(head + `,{"role":"assistant","content":` + string(content) + `},{"role":"user","content":"thanks"}]}`)
			if len(again.Content) != 1 || len(shop.made()) != 6 {
				t.Errorf("got %+v and %d calls", again.Content, len(shop.made()))
			}
			if last := bodies()[len(bodies())-1]; strings.Count(last, `"role":"tool"`) != 6 || !strings.Contains(last, `"tool_call_id":"call_b2"`) {
				t.Errorf("the next turn has not what ran before: %s", last)
			}
		})
	}
}

// TestToolRunApproval has a call that the client must agree to, by items of the Responses API: yes, no,
// and a word on what nobody asked.
func TestToolRunApproval(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		for _, word := range []string{"true", "false"} {
			t.Run(fmt.Sprint(stream, word), func(t *testing.T) {
				t.Parallel()
				shop := newToolShop(t)
				url, bodies := script(t, "native", func(results int, _ received) (string, []modelCall) {
					if results == 0 {
						return "", []modelCall{{"call_1", "shop__order", `{"item":"tea"}`}}
					}
					return "All done.", nil
				})
				g := serve(t, shop.config(url, "m", "none", ""))
				const tools = `"tools":[{"type":"mcp","server_label":"shop","require_approval":"always"}]`
				first, _ := g.judged(t, fmt.Sprintf(`{"model":"m","stream":%v,"input":"order tea",%s}`, stream, tools), stream)
				if got := ranWords(first); !slices.Equal(got, []string{"mcp_list_tools 2", "mcp_approval_request order"}) || len(shop.made()) != 0 {
					t.Fatalf("got %q and the calls %q", got, shop.made())
				}
				request := first["output"].([]any)[1].(map[string]any)
				second, r := g.judged(t, fmt.Sprintf(`{"model":"m","stream":%v,"previous_response_id":%q,"input":[{"type":"mcp_approval_response","approval_request_id":%q,"approve":%s}],%s}`,
					stream, first["id"], request["id"], word, tools), stream)
				want, made := []string{"mcp_call order", "All done."}, 1
				if word == "false" {
					want, made = []string{"mcp_call order failed", "All done."}, 0
				}
				got := ranWords(second)
				if word == "false" && len(got) == 1 { // nothing ran, so that nothing need be said
					want = want[1:]
				}
				if !slices.Equal(got, want) || len(shop.made()) != made {
					t.Errorf("got %q and the calls %q, want %q: %s", got, shop.made(), want, r.body)
				}
				third, _ := g.judged(t, fmt.Sprintf(`{"model":"m","stream":%v,"previous_response_id":%q,"input":"thanks",%s}`, stream, second["id"], tools), stream)
				if got := ranWords(third); !slices.Equal(got, []string{"All done."}) || len(shop.made()) != made {
					t.Errorf("got %q and the calls %q", got, shop.made())
				}
				if last := bodies()[len(bodies())-1]; strings.Count(last, `"role":"tool"`) != 1 {
					t.Errorf("the last turn has another call than the one that was made: %s", last)
				}
			})
		}
	}
}

// TestToolRunBesideClients has a turn with a call of the client's and one of the gateway's: both are
// items, the client's result goes on from there, and the gateway's call is in the next request once.
func TestToolRunBesideClients(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		t.Run(fmt.Sprint(stream), func(t *testing.T) {
			t.Parallel()
			shop := newToolShop(t)
			url, bodies := script(t, "native", func(results int, _ received) (string, []modelCall) {
				if results == 0 {
					return "", []modelCall{{"call_c", "mine", `{}`}, {"call_g", "shop__search", `{"q":"x"}`}}
				}
				return "All done.", nil
			})
			g := serve(t, shop.config(url, "m", "none", ""))
			const tools = `"tools":[{"type":"mcp","server_label":"shop"},{"type":"function","name":"mine","parameters":{"type":"object","properties":{}}}]`
			first, _ := g.judged(t, fmt.Sprintf(`{"model":"m","stream":%v,"input":"go",%s}`, stream, tools), stream)
			got := ranWords(first)
			slices.Sort(got)
			if !slices.Equal(got, []string{"function_call mine", "mcp_call search", "mcp_list_tools 2"}) {
				t.Fatalf("got %q", got)
			}
			second, _ := g.judged(t, fmt.Sprintf(`{"model":"m","stream":%v,"previous_response_id":%q,"input":[{"type":"function_call_output","call_id":"call_c","output":"ok"}],%s}`, stream, first["id"], tools), stream)
			if got := ranWords(second); !slices.Equal(got, []string{"All done."}) || len(shop.made()) != 1 {
				t.Errorf("got %q and the calls %q", got, shop.made())
			}
			if last := bodies()[len(bodies())-1]; strings.Count(last, `"id":"call_g"`) != 1 || strings.Count(last, `"role":"tool"`) != 2 {
				t.Errorf("got not each call once: %s", last)
			}
		})
	}
}

// TestToolRunMostCalls has a request that allows two calls, and a model that makes three.
func TestToolRunMostCalls(t *testing.T) {
	t.Parallel()
	shop := newToolShop(t)
	url, bodies := script(t, "native", func(results int, _ received) (string, []modelCall) {
		if results < 3 {
			return "", []modelCall{{fmt.Sprint("call_", results), "shop__search", fmt.Sprintf(`{"q":"%d"}`, results)}}
		}
		return "All done.", nil
	})
	g := serve(t, shop.config(url, "m", "none", ""))
	r, _ := g.judged(t, `{"model":"m","input":"go","max_tool_calls":2,"tools":[{"type":"mcp","server_label":"shop"}]}`, false)
	if got := ranWords(r); len(shop.made()) != 2 || !slices.Equal(got, []string{"mcp_list_tools 2", "mcp_call search", "mcp_call search", "mcp_call search failed", "All done."}) {
		t.Errorf("got %q and the calls %q", got, shop.made())
	}
	if strings.Contains(strings.Join(bodies(), ""), "max_tool_calls\":") {
		t.Error("the upstream got max_tool_calls")
	}
}

// TestToolsHeader holds that a client of each protocol has the tools that the configuration attaches unless its
// header says off, and that another word is refused.
func TestToolsHeader(t *testing.T) {
	t.Parallel()
	shop := newToolShop(t)
	config := shop.config("http://127.0.0.1:1", "m", "none", "    tools: {servers: [shop]}\n")
	g := serve(t, strings.NewReplacer("{provider: up}", "{provider: demo, model: hermes}", "providers:\n", "providers:\n  demo: {type: demo}\n").Replace(config))
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
		"/v1/responses":        `{"model":"m","input":"hi"}`,
		"/v1/messages":         `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"hi"}]}`,
	} {
		for word, offered := range map[string]bool{"": true, "on": true, "off": false} {
			got := g.do(g.request("POST", path, body, "x-callgate-tools", word))
			if has := got.header.Get("x-callgate-tool-limits") != ""; got.status != http.StatusOK || has != offered {
				t.Errorf("%s, %q: got status %d, tools offered: %t; want %t", path, word, got.status, has, offered)
			}
		}
		if got := g.do(g.request("POST", path, body, "x-callgate-tools", "of")); got.status != http.StatusBadRequest || !strings.Contains(got.body, "must be on or off") {
			t.Errorf("%s: got status %d, %s; want that the word is refused", path, got.status, got.body)
		}
	}
}
