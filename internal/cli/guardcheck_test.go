package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
)

// checkAnswer compares what the client got.
func (p *guardPlay) checkAnswer(t *testing.T, r result) {
	t.Helper()
	got := map[string]any{}
	streamed := strings.HasPrefix(r.header.Get("content-type"), events)
	for block := range strings.SplitSeq(r.body, "\n\n") {
		if streamed && block != "" && !strings.HasPrefix(block, "data: ") && (block[0] != ':' || strings.Contains(block, "\n")) {
			t.Errorf("got %q, want an event or a comment", block)
		}
	}
	joinAnswer(t, got, dataOf(r))
	if x, ok := got["execution"].(map[string]any); ok {
		checkTimes(t, x, streamed)
	}
	if ended := strings.HasSuffix(r.body, "data: [DONE]\n\n"); streamed && ended == (got["message"] != nil) {
		t.Errorf("got an end mark: %v, and the code %v", ended, got["code"])
	}
	if r.status != http.StatusOK {
		got["status"] = float64(r.status)
	}
	file := "want.json"
	if p.stream && p.files["want/stream.json"] != "" {
		file = "want/stream.json"
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(p.files[file]), &want); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if p.tongue != nil && (slices.Contains(p.tongue.lacks, key) || want[key] == nil) {
			continue
		}
		if own, ok := want[key].(string); ok && key == "finish_reason" && p.tongue != nil { // others have no server's own words
			want[key] = cmp.Or(gateway.CutBy(own), own)
		}
		if !matches(got[key], want[key]) {
			t.Errorf("%s: got %v, want %v", key, got[key], want[key])
		}
	}
	for _, key := range []string{"status", "code"} {
		if _, wanted := want[key]; !wanted && got[key] != nil && (p.tongue == nil || want["status"] == nil) {
			t.Errorf("got %s %v: %v", key, got[key], got["message"])
		}
	}
}

// dataOf are the chunks of a stream, or the whole answer.
func dataOf(r result) (data []string) {
	if !strings.HasPrefix(r.header.Get("content-type"), events) {
		return []string{r.body}
	}
	for block := range strings.SplitSeq(r.body, "\n\n") {
		if d, ok := strings.CutPrefix(block, "data: "); ok && d != "[DONE]" {
			data = append(data, d)
		}
	}
	return data
}

// matches compares a value with what is wanted: an equal one, or one whose text matches
// a "~" with an expression.
func matches(got, want any) bool {
	if pattern, ok := want.(string); ok && strings.HasPrefix(pattern, "~") {
		return regexp.MustCompile(`(?s)^(?:` + pattern[1:] + `)$`).MatchString(fmt.Sprint(got))
	}
	return reflect.DeepEqual(got, want)
}

// guardChoice is a choice of an answer, put together.
type guardChoice struct {
	content, reasoning, finish string
	names                      []string
	args                       map[int]string
}

type wireCall struct {
	Index    int
	Function struct{ Name, Arguments string }
}

// wireText is the content of a message. One that is no string stands for itself.
type wireText string

func (c *wireText) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) != nil {
		s = string(b)
	}
	*c = wireText(s)
	return nil
}

type wireMessage struct {
	Content   wireText
	Reasoning string     `json:"reasoning_content"`
	ToolCalls []wireCall `json:"tool_calls"`
}

type wireChoice struct {
	Index          int
	Delta, Message wireMessage
	FinishReason   string `json:"finish_reason"`
}

// joinAnswer joins a stream, or reads a whole answer or an error.
func joinAnswer(t *testing.T, got map[string]any, data []string) {
	t.Helper()
	choices := map[int]*guardChoice{0: {args: map[int]string{}}}
	for _, d := range data {
		var k struct {
			Choices   []wireChoice
			Execution any
			Error     map[string]any
		}
		if err := json.Unmarshal([]byte(d), &k); err != nil {
			t.Fatalf("%v in %q", err, d)
		}
		for _, key := range []string{"code", "message", "param"} {
			if k.Error != nil && k.Error[key] != nil {
				got[key] = k.Error[key]
			}
		}
		if k.Execution != nil {
			if got["execution"] != nil {
				t.Errorf("got the member execution twice, the second time in %s", d)
			}
			got["execution"] = k.Execution
		}
		for i := range k.Choices {
			c := choices[k.Choices[i].Index]
			if c == nil {
				c = &guardChoice{args: map[int]string{}}
				choices[k.Choices[i].Index] = c
			}
			c.add(&k.Choices[i])
		}
	}
	for index, c := range choices {
		into := got
		if index > 0 {
			into = map[string]any{}
			got[fmt.Sprintf("choice%d", index)] = into
		}
		c.put(into)
	}
}

func (c *guardChoice) add(w *wireChoice) {
	c.content += string(w.Delta.Content + w.Message.Content)
	c.reasoning += w.Delta.Reasoning + w.Message.Reasoning
	for i, call := range append(w.Delta.ToolCalls, w.Message.ToolCalls...) {
		at := call.Index
		if len(w.Message.ToolCalls) > 0 {
			at = i
		}
		if call.Function.Name != "" {
			c.names = append(c.names, call.Function.Name)
		}
		c.args[at] += call.Function.Arguments
	}
	if w.FinishReason != "" {
		c.finish = w.FinishReason
	}
}

func (c *guardChoice) put(into map[string]any) {
	calls := []any{}
	for i, name := range c.names {
		calls = append(calls, name+"("+c.args[i]+")")
	}
	into["content"], into["calls"] = c.content, calls
	if c.reasoning != "" {
		into["reasoning"] = c.reasoning
	}
	if c.finish != "" {
		into["finish_reason"] = c.finish
	}
}

// checkTimes checks the times in an extension, and takes them out. A whole answer comes
// at once, so that it has no first token.
func checkTimes(t *testing.T, x map[string]any, streamed bool) {
	t.Helper()
	latency, _ := x["latency_ms"].(float64)
	first, _ := x["first_token_ms"].(float64)
	if latency <= 0 || latency < first || latency > float64(patience.Milliseconds()) || streamed != (first > 0) {
		t.Errorf("got first_token_ms %v and latency_ms %v of a stream: %v", x["first_token_ms"], x["latency_ms"], streamed)
	}
	delete(x, "latency_ms")
	delete(x, "first_token_ms")
}

// checkHeader compares headers, or what stands for them in the comments of a stream.
func (p *guardPlay) checkHeader(t *testing.T, r result) {
	t.Helper()
	lines := p.files["want/header.txt"]
	if own, ok := p.files["want/stream.txt"]; p.stream && ok {
		lines = own
	}
	for line := range strings.Lines(lines) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), ":")
		got := r.header.Get(name)
		comments := regexp.MustCompile(`(?m)^: callgate .*\b`+commentKey(name)+`=(\S+)`).FindAllStringSubmatch(r.body, -1)
		if p.stream && len(comments) > 0 { // the last one knows more than the header
			got = comments[len(comments)-1][1]
		}
		if p.tongue != nil && name == "x-callgate-warnings" { // the upstreams' member that nobody knows has no place there
			got = strings.Join(slices.DeleteFunc(strings.Split(got, ","), func(w string) bool { return w == "dropped:answer.x_kept" }), ",")
		}
		if want = strings.TrimSpace(want); !regexp.MustCompile(`^(?:` + want + `)$`).MatchString(got) {
			t.Errorf("%s: got %q, want %s", name, got, want)
		}
	}
}

// commentKey is what a header is called in the comment of a stream.
func commentKey(header string) string {
	key := strings.TrimPrefix(header, "x-callgate-")
	if key == "tool-rounds" {
		return "rounds"
	}
	return key
}

// checkMetrics looks for lines of the metrics, which are counted when the client has its
// answer.
func (p *guardPlay) checkMetrics(t *testing.T, g *gate) {
	t.Helper()
	missing := strings.Split(strings.ReplaceAll(p.files["want/metrics"], "ROUTE", p.model), "\n")
	if missing[0] == "" {
		return
	}
	var text string
	for end := time.Now().Add(patience); len(missing) > 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		text = g.operator("GET", "/metrics").body
		missing = slices.DeleteFunc(missing, func(line string) bool { return strings.Contains(text, line+"\n") })
	}
	if len(missing) > 0 {
		t.Errorf("got no %q in the metrics, but\n%s", missing, strings.Join(regexp.MustCompile(`(?m)^.*"`+p.model+`".*$`).FindAllString(text, -1), "\n"))
	}
}

// checkSent compares what the upstream got.
func (p *guardPlay) checkSent(t *testing.T, n int, sent sentRequest) {
	t.Helper()
	var raw map[string]json.RawMessage
	var got, want map[string]any
	for _, into := range []any{&raw, &got} {
		if err := json.Unmarshal([]byte(sent.body), into); err != nil {
			t.Fatalf("%v in what was sent: %s", err, sent.body)
		}
	}
	raws := fmt.Sprintf("want/raw/%d/", n)
	for file, want := range p.files {
		if name, ok := strings.CutPrefix(file, raws); ok && string(raw[name]) != want && (p.tongue == nil || !sameJSON(raw[name], want)) {
			t.Errorf("request %d: %s:\n got %s\nwant %s", n, name, raw[name], want)
		}
	}
	text, ok := p.files[fmt.Sprintf("want/sent/%d.json", n)]
	if !ok {
		return
	}
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatalf("want/sent/%d.json: %v", n, err)
	}
	got["target"] = sent.target
	if messages, ok := got["messages"].([]any); ok && len(messages) > 0 {
		got["last"], got["first"], got["count"] = messages[len(messages)-1], messages[0], float64(len(messages))
	}
	for key, value := range want {
		if !matches(got[key], value) {
			t.Errorf("request %d: %s:\n got %v\nwant %v", n, key, got[key], value)
		}
	}
}

// sameJSON compares values of JSON whatever their spelling.
func sameJSON(a []byte, b string) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}
