package cli

import (
	"regexp"
	"strings"
	"testing"
)

var curl = regexp.MustCompile(`(?s)curl -s (http://\S+) -H 'content-type: application/json' -d '(.*?)'\n`)

// TestGreeting sends the request that serve shows to try it.
func TestGreeting(t *testing.T) {
	t.Parallel()
	g := serve(t, "")
	m := curl.FindStringSubmatch(g.stdout.String())
	if m == nil {
		t.Fatalf("got greeting %q, want a curl command in it", g.stdout)
	}
	if want := "http://" + g.addr + "/v1/chat/completions"; m[1] != want {
		t.Errorf("got URL %q, want %q", m[1], want)
	}
	want := said{content: "Let me check.", finish: "tool_calls", calls: []called{{"get_weather", `{"city":"Oslo"}`}}}
	t.Run("whole", func(t *testing.T) {
		r := g.chat(m[2])
		whole(t, r.body).same(t, want)
		hasHeader(t, r.header, map[string]string{"x-callgate-provider": "demo", "x-callgate-model": "hermes", "x-callgate-parser": "hermes"})
	})
	t.Run("streamed", func(t *testing.T) {
		body := strings.Replace(m[2], "{", `{"stream": true, `, 1)
		r := g.chat(body)
		streamed(t, r.body).same(t, want)
		hasHeader(t, r.header, map[string]string{"content-type": "text/event-stream", "x-callgate-provider": "demo"})
	})
	t.Run("models", func(t *testing.T) {
		r := g.get("/v1/models")
		for _, want := range []string{`"demo/hermes"`, `"demo/qwen3_coder"`, `"demo/native"`} {
			if !strings.Contains(r.body, want) {
				t.Errorf("got models %s, want %s among them", r.body, want)
			}
		}
	})
	t.Run("live", func(t *testing.T) {
		if r := g.get("/livez"); r.status != 200 || r.body != "ok\n" {
			t.Errorf("got %d %q, want 200 ok", r.status, r.body)
		}
	})
}

// TestUpstreamFlag serves without a configuration file before an upstream of one's
// own.
func TestUpstreamFlag(t *testing.T) {
	t.Parallel()
	url := static(t, 200, "application/json", completion(hermesCall))
	want := said{finish: "tool_calls", calls: []called{{"get_weather", `{"city":"Oslo"}`}}}
	for name, args := range map[string][]string{"auto": nil, "named": {"--parser", "hermes"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, "", append([]string{"--upstream", url}, args...)...)
			whole(t, g.chat(prompt("any-model", "hi", false)).body).same(t, want)
			whole(t, g.chat(prompt("org/model", "hi", false)).body).same(t, want)
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		g := serve(t, "", "--upstream", url, "--parser", "none")
		equalBytes(t, "answers", g.chat(prompt("any", "hi", false)).body, completion(hermesCall))
	})
}

// hermesCall is a call as text.
const hermesCall = `<tool_call>{"name":"get_weather","arguments":{"city":"Oslo"}}</tool_call>`
