package conformance_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/callgate/callgate/conformance"
)

const good = `One call.
features: chat stream tools
parser: hermes
rule: it must work

-- request.json --
{"messages": []}
-- model.jsonl --
"Hi."
-- want/response.json --
{"content": "Hi.", "finish_reason": "stop"}
`

// TestParseCase checks that a case which does not say what it means is refused.
func TestParseCase(t *testing.T) {
	t.Parallel()
	client := func(line string) string {
		head, _, _ := strings.Cut(good, "\n\n")
		return head + "\n\n-- client.http --\n" + line + "\n-- want/requests --\n0\n"
	}
	replace := func(old, with string) string { return strings.Replace(good, old, with, 1) }
	for _, tt := range []struct{ name, text, want string }{
		{"good", good, ""},
		{"unknown field", replace("rule:", "rules:"), "no field"},
		{"unknown feature", replace("stream", "strem"), `no feature "strem"`},
		{"no parser", replace("parser: hermes\n", ""), "must have a sentence"},
		{"no way to run", replace("chat stream ", ""), "chat, stream or both"},
		{"unknown file", replace("want/response.json", "want/respons.json"), "no file called want/respons.json"},
		{"file twice", good + "-- request.json --\n{}\n", "there twice"},
		{"unknown member", replace(`"content"`, `"contents"`), "unknown field"},
		{"text that is no string", replace(`"Hi."`, "Hi."), "must be a JSON string"},
		{"no request", replace("-- request.json --\n{\"messages\": []}\n", ""), "one of request.json"},
		{"nothing wanted", replace("-- want/response.json --\n{\"content\": \"Hi.\", \"finish_reason\": \"stop\"}\n", ""), "nothing is wanted"},
		{"error without status", good + "-- want/error.json --\n{}\n", "needs a want/status"},
		{"empty file of want", good + "-- want/events.txt --\n", ""},
		{"unknown start of reasoning", replace("rule:", "reasoning: opened\nrule:"), "can be open"},
		{"no number of deltas", replace("rule:", "deltas: many\nrule:"), "a number"},
		{"unknown event", good + "-- want/events.txt --\ntext \"Hi.\"\n", "no event of this kind"},
		{"event without its text", good + "-- want/events.txt --\nargs 0\n", "other arguments"},
		{"unknown delta", good + "-- want/stream.jsonl --\n{\"text\": \"Hi.\"}\n", "unknown field"},
		{"stream without the feature", replace("chat stream", "chat") + "-- want/stream.jsonl --\n{\"content\": \"Hi.\"}\n", "about a stream"},
		{"model and upstream", good + "-- upstream.sse --\n\"\"\n", "stands alone"},
		{"unknown step", client(`{"do": "sing"}`), "a step has one of"},
		{"step of the other side", client(`{"do": "hold"}`), "cannot have the step"},
		{"bytes that are no step", client(`{"hex": "f"}`), "odd length"},
		{"too many bytes", client(`{"repeat": 99999999, "text": "x"}`), "no more than"},
		{"long wait", client(`{"wait": "1h"}`), "a wait is"},
		{"client", client(`"GET / HTTP/1.1\r\n\r\n"`), ""},
		{"client with a request that it does not send", client(`"GET / HTTP/1.1\r\n\r\n"`) + "-- request.json --\n{}\n", "$BODY"},
		{"leaving without a client that leaves", client(`"x"`) + "-- want/left --\n2s\n", "client that leaves"},
		{"status that is none", good + "-- want/status --\n2000\n", "a status is"},
		{"number of requests that is none", good + "-- want/requests --\nmany\n", "a number of requests"},
		{"expression that is none", good + "-- want/header.json --\n{\"x-a\": \"/(/\"}\n", "x-a"},
		{"connection stays open", strings.Replace(good, "-- model.jsonl --\n\"Hi.\"", "-- upstream.http --\n\"HTTP/1.1 200 OK\\r\\n\\r\\n{}\"", 1), "Connection: close"},
	} {
		_, err := conformance.ParseCase("x/y", []byte(tt.text))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q in it", tt.name, err, tt.want)
		}
	}
}

func TestReadCases(t *testing.T) {
	t.Parallel()
	cases, err := conformance.ReadCases(fstest.MapFS{
		"a/one.txtar": {Data: []byte(good)}, "b/two.txtar": {Data: []byte(good)}, "b/README.md": {Data: []byte("no case")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 2 || cases[0].Name != "a/one" || cases[1].Name != "b/two" {
		t.Errorf("got %d cases, want a/one and b/two", len(cases))
	}
}

// listen starts an upstream of the suite, which ends with the test.
func listen(t *testing.T) (up *conformance.Upstream, baseURL string) {
	t.Helper()
	up = conformance.NewUpstream()
	baseURL, err := up.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { up.Close() })
	return up, baseURL
}

// TestOnUpstream runs the cases with a model's text on the suite's own upstream, as if
// that were a gateway: one that changes nothing. What needs no change must pass, and what
// needs one must fail, or the suite would see no fault anywhere. Package plainproxy has
// the same for the other cases.
func TestOnUpstream(t *testing.T) {
	t.Parallel()
	up, url := listen(t)
	cases, err := conformance.Cases()
	if err != nil {
		t.Fatal(err)
	}
	target := conformance.Target{BaseURL: url, Features: conformance.Features()} // which are without Pieces
	o := conformance.Options{Parallel: 4, Cases: slices.DeleteFunc(cases, func(c conformance.Case) bool { return c.Model == nil })}
	report, err := conformance.Run(t.Context(), target, up, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range report.Cases {
		c, want := out.Case, conformance.Failed // also if an answer of the upstream's is to be an error
		if len(c.Want.Answers) > 0 {
			a := c.Want.Answers[0]
			if len(a.ToolCalls) == 0 && a.Reasoning == "" && a.Content == strings.Join(c.Model, "") {
				want = conformance.Passed
			}
		}
		if out.Verdict != want {
			t.Errorf("%s: got %s on an upstream as it is, want %s", c.Name, out.Verdict, want)
		}
	}
}

// TestSkipped checks that a target is only asked for what it claims.
func TestSkipped(t *testing.T) {
	t.Parallel()
	c, err := conformance.ParseCase("x/y", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	up, url := listen(t)
	for _, tt := range []struct {
		name      string
		target    conformance.Target
		skipped   string
		exchanges int
	}{
		{"all", conformance.Target{}, "", 5},
		{"no streams", conformance.Target{Features: []string{conformance.Chat, conformance.Tools}}, "", 1},
		{"no tools", conformance.Target{Features: []string{conformance.Chat, conformance.Stream}}, "does not claim tools", 0},
		{"neither", conformance.Target{Features: []string{conformance.Tools}}, "does not claim chat", 0},
		{"no such parser", conformance.Target{Model: func(string) string { return "" }}, "no model with the parser hermes", 0},
	} {
		tt.target.BaseURL = url
		r := conformance.Check(t.Context(), tt.target, up, c)
		if !strings.Contains(r.Skipped, tt.skipped) || (r.Skipped == "") != (tt.skipped == "") || r.Exchanges != tt.exchanges || len(r.Failures) > 0 {
			t.Errorf("%s: got %+v, want %d exchanges, skipped %q", tt.name, r, tt.exchanges, tt.skipped)
		}
	}
}

// TestSkippedClient checks that a case which streams on a connection of its own is skipped where
// the target has no streams.
func TestSkippedClient(t *testing.T) {
	t.Parallel()
	cases := readSuite(t)
	i := slices.IndexFunc(cases, func(c conformance.Case) bool { return c.Name == "cancel/stream_text" })
	target := conformance.Target{BaseURL: "http://127.0.0.1:1/v1", Features: []string{conformance.Chat, conformance.Cancel}}
	if r := conformance.Check(t.Context(), target, conformance.NewUpstream(), cases[i]); r.Skipped != "the target does not claim stream" {
		t.Errorf("got %+v, want it skipped for stream", r)
	}
}

// TestAsked checks that an empty file of want fails a case and is told how to be
// filled, and that a case has to keep its promises about deltas and events.
func TestAsked(t *testing.T) {
	t.Parallel()
	up, url := listen(t)
	const deltas = "{\"role\":\"assistant\"}\n{\"content\":\"Hi.\"}\n{\"finish_reason\":\"stop\"}\n"
	for _, tt := range []struct {
		name, more string
		features   []string
		failures   int
	}{
		{"asked", "-- want/stream.jsonl --\n", nil, 1},
		{"the same", "-- want/stream.jsonl --\n" + deltas, nil, 0},
		{"another text", "-- want/stream.jsonl --\n" + strings.Replace(deltas, "Hi", "Ho", 1), nil, 4},
		{"another cut", "-- want/stream.jsonl --\n" + strings.Replace(deltas, "Hi.", "Hi\"}\n{\"content\":\".", 1), nil, 1},
		{"another cut, joined", "-- want/stream.jsonl --\n" + strings.Replace(deltas, "Hi.", "Hi\"}\n{\"content\":\".", 1), conformance.Features(), 0},
	} {
		c, err := conformance.ParseCase("x/y", []byte(good+tt.more))
		if err != nil {
			t.Fatal(err)
		}
		r := conformance.Check(t.Context(), conformance.Target{BaseURL: url, Features: tt.features}, up, c)
		if len(r.Failures) != tt.failures {
			t.Errorf("%s: got %d failures, want %d: %+v", tt.name, len(r.Failures), tt.failures, r.Failures)
		}
		if got := r.Got["want/stream.jsonl"]; tt.more != "" && got != deltas {
			t.Errorf("%s: the file should be\n%s\nnot\n%s", tt.name, deltas, got)
		}
	}
}

// TestNoGateway checks that a target that cannot be reached is a failure.
func TestNoGateway(t *testing.T) {
	t.Parallel()
	c, err := conformance.ParseCase("x/y", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	r := conformance.Check(t.Context(), conformance.Target{BaseURL: "http://127.0.0.1:1/v1"}, conformance.NewUpstream(), c)
	if len(r.Failures) != 5 {
		t.Errorf("got %d failures, want all 5", len(r.Failures))
	}
}
