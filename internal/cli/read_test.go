package cli

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"
)

// said is what a client has understood of an answer.
type said struct {
	content, reasoning, finish string
	calls                      []called
	ids                        []string
}

// called is a tool call, its arguments in one form.
type called struct{ name, args string }

// same compares what was said, but for ids, of which it wants one a call and none
// twice.
func (s said) same(t *testing.T, want said) {
	t.Helper()
	seen := map[string]bool{"": true}
	for _, id := range s.ids {
		if seen[id] {
			t.Errorf("got ids %q, want different ones", s.ids)
		}
		seen[id] = true
	}
	if len(s.ids) != len(s.calls) {
		t.Errorf("got ids %q, want one for each of %v", s.ids, s.calls)
	}
	s.ids = nil
	if !reflect.DeepEqual(s, want) {
		t.Errorf("\n got %+v\nwant %+v", s, want)
	}
}

// compact is JSON without white space and with its keys sorted, so that values can
// be compared.
func compact(t *testing.T, text string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Errorf("got arguments %q, want JSON: %v", text, err)
	}
	b, _ := json.Marshal(v) // decoded, so it can be encoded
	return string(b)
}

// whole reads a completion in one piece.
func whole(t *testing.T, body string) said {
	t.Helper()
	var c openai.ChatCompletionResponse
	if err := json.Unmarshal([]byte(body), &c); err != nil || len(c.Choices) != 1 {
		t.Fatalf("got %q, want a completion with one choice (%v)", body, err)
	}
	m := c.Choices[0].Message
	s := said{content: m.Content, reasoning: m.ReasoningContent, finish: string(c.Choices[0].FinishReason)}
	for _, call := range m.ToolCalls {
		s.calls = append(s.calls, called{call.Function.Name, compact(t, call.Function.Arguments)})
		s.ids = append(s.ids, call.ID)
	}
	return s
}

// streamed joins a stream of chunks that must end with the end marker.
func streamed(t *testing.T, body string) said {
	t.Helper()
	events := data(body)
	if len(events) == 0 || events[len(events)-1] != "[DONE]" {
		t.Fatalf("got a stream without an end marker:\n%s", body)
	}
	var s said
	for _, event := range events[:len(events)-1] {
		var c openai.ChatCompletionStreamResponse
		if err := json.Unmarshal([]byte(event), &c); err != nil {
			t.Fatalf("got event %q, want a chunk: %v", event, err)
		}
		for _, choice := range c.Choices {
			s.add(t, choice)
		}
	}
	for i := range s.calls {
		s.calls[i].args = compact(t, s.calls[i].args)
	}
	return s
}

func (s *said) add(t *testing.T, c openai.ChatCompletionStreamChoice) {
	t.Helper()
	s.content += c.Delta.Content
	s.reasoning += c.Delta.ReasoningContent
	if c.FinishReason != "" {
		if s.finish != "" {
			t.Errorf("got finish reasons %q and %q, want one", s.finish, c.FinishReason)
		}
		s.finish = string(c.FinishReason)
	}
	for _, call := range c.Delta.ToolCalls {
		if call.Index == nil {
			t.Fatalf("got a call without an index: %+v", call)
		}
		switch i := *call.Index; {
		case i == len(s.calls):
			s.calls = append(s.calls, called{call.Function.Name, call.Function.Arguments})
			s.ids = append(s.ids, call.ID)
		case i == len(s.calls)-1:
			s.calls[i].name += call.Function.Name
			s.calls[i].args += call.Function.Arguments
			s.ids[i] += call.ID
		default:
			t.Fatalf("got index %d after %d calls", i, len(s.calls))
		}
	}
}

// data are the data of a stream's events, as WHATWG reads them.
func data(stream string) []string {
	var events []string
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(stream, "\r\n", "\n"), "\n") {
		if text, ok := strings.CutPrefix(line, "data:"); ok {
			lines = append(lines, strings.TrimPrefix(text, " "))
		}
		if line == "" && lines != nil {
			events, lines = append(events, strings.Join(lines, "\n")), nil
		}
	}
	return events
}

// apiError is OpenAI's error.
type apiError struct{ message, typ, param, code string }

// errorOf reads an error body, which has these four keys and no other.
func errorOf(t *testing.T, body string) apiError {
	t.Helper()
	var e map[string]map[string]*string
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatalf("got body %q, want an error: %v", body, err)
	}
	got := slices.Sorted(maps.Keys(e["error"]))
	if want := []string{"code", "message", "param", "type"}; len(e) != 1 || !slices.Equal(got, want) {
		t.Fatalf("got error keys %q in %q, want %q", got, body, want)
	}
	text := func(key string) string {
		if p := e["error"][key]; p != nil {
			return *p
		}
		return ""
	}
	if text("message") == "" || text("type") == "" || text("code") == "" {
		t.Errorf("got error %q, want a message, a type and a code", body)
	}
	return apiError{text("message"), text("type"), text("param"), text("code")}
}

// failure is what a test wants of an answer that is an error.
type failure struct {
	status int
	code   string
	param  string
	retry  string // x-should-retry; "" means false
	says   string // part of the message
}

// check compares an answer with a failure.
func (f failure) check(t *testing.T, r result) {
	t.Helper()
	if r.status != f.status {
		t.Fatalf("got status %d %q, want %d", r.status, r.body, f.status)
	}
	if mime := r.header.Get("content-type"); !strings.HasPrefix(mime, "application/json") {
		t.Errorf("got content type %q, want JSON", mime)
	}
	e := errorOf(t, r.body)
	if e.code != f.code || e.param != f.param || !strings.Contains(e.message, f.says) {
		t.Errorf("got %+v, want code %q, param %q and a message with %q", e, f.code, f.param, f.says)
	}
	retry := f.retry
	if retry == "" {
		retry = "false"
	}
	if got := r.header.Get("x-should-retry"); got != retry {
		t.Errorf("got x-should-retry %q, want %q", got, retry)
	}
	if r.header.Get("x-request-id") == "" {
		t.Error("got no x-request-id")
	}
}

// equalBytes compares and shows the place where bytes differ.
func equalBytes(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	from := max(0, n-40)
	t.Errorf("%s differ at byte %d of %d and %d\n got …%q\nwant …%q", what, n, len(got), len(want), cut(got, from, n+80), cut(want, from, n+80))
}

func cut(s string, from, to int) string { return s[min(from, len(s)):min(to, len(s))] }

// hasHeader reports the headers that are not as wanted.
func hasHeader(t *testing.T, h http.Header, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := h.Get(name); got != value {
			t.Errorf("got %s %q, want %q", name, got, value)
		}
	}
}
