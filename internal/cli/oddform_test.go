package cli

import (
	"fmt"
	"strings"
	"testing"
)

// TestOddForms has members of an answer in a form that they do not have elsewhere, for which other protocols have no
// place: what is left out is said.
func TestOddForms(t *testing.T) {
	t.Parallel()
	for member, want := range map[string]string{
		`"reasoning_content":[{"type":"text","text":"hm"}]`:       "dropped:answer.message.reasoning_content",
		`"reasoning":{"content":"hm"}`:                            "dropped:answer.message.reasoning",
		`"tool_calls":"[{\"name\":\"f\",\"arguments\":{}}]"`:      "dropped:answer.message.tool_calls",
		`"reasoning_content":null,"reasoning":[],"tool_calls":""`: "",
	} {
		t.Run(member, func(t *testing.T) {
			t.Parallel()
			g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q}}\nmodels: {a: {targets: [{provider: up, model: m}]}}",
				static(t, 200, "application/json", `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"ok",`+member+`},"finish_reason":"stop"}]}`)))
			for _, r := range []result{
				g.messages(`{"model":"a","max_tokens":9,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"x"}]}`),
				g.do(g.request("POST", "/v1/responses", `{"model":"a","input":"x"}`)),
			} {
				if r.status != 200 || !strings.Contains(r.body, `"ok"`) || r.header.Get("x-callgate-warnings") != want {
					t.Errorf("got status %d, the header %v and %s, want %q", r.status, r.header, r.body, want)
				}
			}
		})
	}
}
