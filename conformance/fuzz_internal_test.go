package conformance

import (
	"testing"
)

// FuzzAnswer reads what a gateway may answer: nothing of it is a reason to stop.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(frame(role) + frame(begin) + frame(goOn) + frame(calls) + done))
	f.Add([]byte("\ufeffdata: {\"choices\":[{\"index\":-1,\"delta\":{\"tool_calls\":[{\"index\":9}]}}]}\r\n\r"))
	f.Add([]byte(`{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"tool_calls":[{}]},"finish_reason":"length"}]}`))
	f.Add([]byte(`{"error":{"message":"m","type":null}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c := Case{Want: Want{Answers: []Answer{{Content: "x"}}, Stream: []string{`{"content":"x"}`}, StreamError: []byte(`{"error":{}}`)}}
		for _, streamed := range []bool{false, true} {
			e := exchange{stream: streamed, exact: true, script: script{model: &written{}}}
			p := &played{answer: &answered{status: 200, body: body}, received: []received{{body: body}}}
			if got := c.judge(p, &e, gotten{}); len(got.Faults) == 0 {
				t.Errorf("got no fault of an answer without a content type: %q", body)
			}
		}
		_ = c.checkError(Core, []byte(`{"error":{"type":"t"}}`), body, true)
	})
}

// FuzzParseCase reads files of cases. One that is taken can be written anew.
func FuzzParseCase(f *testing.F) {
	f.Add([]byte("One call.\nfeatures: chat\nparser: hermes\nrule: it must work\n\n-- request.json --\n{}\n-- model.jsonl --\n\"x\"\n-- want/response.json --\n{}\n"))
	f.Add([]byte("Raw.\nfeatures: http\nparser: none\nrule: it must work\n\n-- client.http --\n{\"repeat\": 3, \"text\": \"x\"}\n{\"hex\": \"ff\"}\n{\"do\": \"close\"}\n-- want/requests --\n0 1\n-- want/left --\n1s\n"))
	f.Add([]byte("Headers.\nfeatures: chat\nparser: none\nrule: it must work\n\n-- request.json --\n{}\n-- upstream.http --\n\"\\r\\nConnection: close\\r\\n\"\n-- want/header.json --\n{\"x\": \"!/a/\", \"y\": null}\n-- want/status --\n4xx closed\n\n200\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseCase("a/b", text)
		if err != nil {
			return
		}
		target := Target{}
		if c.Area() != "a" || len(c.exchanges(&target)) == 0 {
			t.Errorf("got area %q and no exchange", c.Area())
		}
		if _, err := ParseCase("a/b", Rewrite(text, map[string]string{})); err != nil {
			t.Errorf("got %v after a rewrite of nothing", err)
		}
	})
}
