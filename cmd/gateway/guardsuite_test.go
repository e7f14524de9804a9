package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"
)

// A guardCase is a request, what the upstream answers to it time after time, and what
// the client and the upstream get. It is a txtar file of testdata/guards:
//
//	route.yaml       keys of the model, as in models: {m: {…}}; "{a: 1}" on one line or several keys
//	target.yaml      keys of the target, likewise
//	request.json     the client's request without model and stream
//	upstream/N.json  the Nth answer: a message with finish_reason and usage beside it,
//	                 or {"status": 400, "body": {…}}; the last one is repeated
//	want.json        what the client gets: content, calls ["name(arguments)"],
//	                 finish_reason; or status, code and message of an error
//	want/header.txt  headers of a whole answer, NAME: REGEXP; "NAME:" is one that is not there
//	want/sent/N.json members of the Nth request upstream; "last" is its last message,
//	                 "system" the text of the first, null one that is not there
//	want/requests    how many there are
//	want/same        is there if the answer must be the upstream's byte for byte
type guardCase struct {
	name  string
	files map[string]string
}

func guardCases(t *testing.T) []guardCase {
	t.Helper()
	paths, err := filepath.Glob("testdata/guards/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got no cases: %v", err)
	}
	var cases []guardCase
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		c := guardCase{strings.TrimSuffix(filepath.Base(p), ".txtar"), map[string]string{}}
		for _, f := range txtar.Parse(b).Files {
			c.files[f.Name] = strings.TrimSpace(string(f.Data))
		}
		cases = append(cases, c)
	}
	return cases
}

// TestGuards plays each case whole and streamed, over HTTP.
func TestGuards(t *testing.T) {
	t.Parallel()
	for _, c := range guardCases(t) {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%v", c.name, stream), func(t *testing.T) {
				t.Parallel()
				c.play(t, stream)
			})
		}
	}
}

func (c guardCase) play(t *testing.T, stream bool) {
	up := &guardUpstream{c: c}
	g := serve(t, c.config(upstream(t, up.answer)))
	body := strings.Replace(c.files["request.json"], "{", fmt.Sprintf(`{"model":"m","stream":%v,`, stream), 1)
	r := g.chat(body)
	if r.err != nil {
		t.Fatalf("got %v behind %q", r.err, r.body)
	}
	up.mu.Lock()
	defer up.mu.Unlock()
	if _, same := c.files["want/same"]; same && r.body != up.last {
		t.Errorf("got other bytes than the upstream's:\n got %q\nwant %q", r.body, up.last)
	}
	c.checkAnswer(t, r, stream)
	c.checkHeader(t, r, stream)
	if want, ok := c.files["want/requests"]; ok && want != fmt.Sprint(len(up.bodies)) {
		t.Errorf("got %d requests upstream, want %s", len(up.bodies), want)
	}
	for i, sent := range up.bodies {
		c.checkSent(t, i+1, sent)
	}
}

// config is the gateway's configuration for a case.
func (c guardCase) config(url string) string {
	s := "admin: {listen: \"127.0.0.1:0\"}\nlog: {level: error}\nproviders:\n  up: {type: openai, base_url: \"" + url + "\"}\nmodels:\n  m:\n"
	s += indented("    ", c.files["route.yaml"]) + "    targets:\n    - provider: up\n      model: up\n"
	return s + indented("      ", c.files["target.yaml"])
}

func indented(by, text string) (out string) {
	for line := range strings.Lines(text) {
		out += by + strings.TrimRight(line, "\n") + "\n"
	}
	return out
}

// guardUpstream plays the answers of a case.
type guardUpstream struct {
	c      guardCase
	mu     sync.Mutex
	bodies []string
	last   string // what it has written last
}

type guardAnswer struct {
	Status       int             `json:"status"`
	Body         json.RawMessage `json:"body"`
	Content      *string         `json:"content"`
	ToolCalls    json.RawMessage `json:"tool_calls,omitempty"`
	FinishReason string          `json:"finish_reason"`
	Usage        json.RawMessage `json:"usage"`
}

func (u *guardUpstream) answer(w http.ResponseWriter, r received) {
	u.mu.Lock()
	u.bodies = append(u.bodies, r.body)
	n := len(u.bodies)
	for u.c.files[fmt.Sprintf("upstream/%d.json", n)] == "" && n > 1 {
		n--
	}
	u.mu.Unlock()
	var a guardAnswer
	if err := json.Unmarshal([]byte(u.c.files[fmt.Sprintf("upstream/%d.json", n)]), &a); err != nil {
		http.Error(w, "the case is wrong: "+err.Error(), http.StatusInternalServerError)
		return
	}
	var out bytes.Buffer
	switch {
	case a.Status != 0:
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(a.Status)
		out.Write(a.Body)
	case r.wantsStream():
		w.Header().Set("content-type", events)
		a.stream(&out)
	default:
		w.Header().Set("content-type", "application/json")
		a.whole(&out)
	}
	u.mu.Lock()
	u.last = out.String()
	u.mu.Unlock()
	send(w, strings.SplitAfter(out.String(), "\n\n")...)
}

const guardChunk = `"id":"c1","object":"chat.completion.chunk","created":1,"model":"up","x_kept":1.0`

func (a *guardAnswer) whole(w io.Writer) {
	content, _ := json.Marshal(a.Content)
	calls := ""
	if a.ToolCalls != nil {
		calls = `,"tool_calls":` + string(a.ToolCalls)
	}
	usage := "null"
	if a.Usage != nil {
		usage = string(a.Usage)
	}
	fmt.Fprintf(w, `{"id":"c1","object":"chat.completion","created":1,"model":"up","x_kept":1.0,"choices":[{"index":0,"message":{"role":"assistant","content":%s%s},"finish_reason":%q}],"usage":%s}`,
		content, calls, a.FinishReason, usage)
}

func (a *guardAnswer) stream(w io.Writer) {
	chunk := func(delta, finish string) {
		fmt.Fprintf(w, "data: {%s,\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", guardChunk, delta, finish)
	}
	chunk(`{"role":"assistant","content":""}`, "null")
	if a.Content != nil {
		for _, piece := range pieces(*a.Content, 5) {
			text, _ := json.Marshal(strings.ToValidUTF8(piece, "?"))
			chunk(fmt.Sprintf(`{"content":%s}`, text), "null")
		}
	}
	var calls []map[string]any
	if a.ToolCalls != nil && json.Unmarshal(a.ToolCalls, &calls) == nil {
		for i, call := range calls {
			call["index"] = i
			b, _ := json.Marshal([]any{call})
			chunk(fmt.Sprintf(`{"tool_calls":%s}`, b), "null")
		}
	}
	chunk("{}", fmt.Sprintf("%q", a.FinishReason))
	if a.Usage != nil {
		fmt.Fprintf(w, "data: {%s,\"choices\":[],\"usage\":%s}\n\n", guardChunk, a.Usage)
	}
	io.WriteString(w, "data: [DONE]\n\n")
}

// checkAnswer compares what the client got.
func (c guardCase) checkAnswer(t *testing.T, r result, stream bool) {
	t.Helper()
	got := map[string]any{}
	var data []string
	if strings.HasPrefix(r.header.Get("content-type"), events) {
		for block := range strings.SplitSeq(r.body, "\n\n") {
			if d, ok := strings.CutPrefix(block, "data: "); ok && d != "[DONE]" {
				data = append(data, d)
			}
		}
		if ended := strings.HasSuffix(r.body, "data: [DONE]\n\n"); ended == strings.Contains(r.body, `"error":`) {
			t.Errorf("got an end mark: %v, of %q", ended, r.body)
		}
	} else {
		data = []string{r.body}
	}
	joinAnswer(t, got, data)
	if r.status != http.StatusOK {
		got["status"] = float64(r.status)
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(c.files["want.json"]), &want); err != nil {
		t.Fatalf("want.json: %v", err)
	}
	if stream && r.status == http.StatusOK && want["status"] != nil {
		delete(want, "status") // it went out before the answer was known
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if !reflect.DeepEqual(got[key], want[key]) {
			t.Errorf("%s: got %v, want %v\n%s", key, got[key], want[key], r.body)
		}
	}
	if want["code"] == nil && got["code"] != nil {
		t.Errorf("got the error %v: %v", got["code"], got["message"])
	}
}

// joinAnswer joins a stream, or reads a whole answer or an error.
func joinAnswer(t *testing.T, got map[string]any, data []string) {
	t.Helper()
	type call struct {
		Index    int
		Function struct{ Name, Arguments string }
	}
	type message struct {
		Content   string
		ToolCalls []call `json:"tool_calls"`
	}
	content, names, args := "", []string{}, map[int]string{}
	for _, d := range data {
		var k struct {
			Choices []struct {
				Delta, Message message
				FinishReason   string `json:"finish_reason"`
			}
			Execution any
			Error     map[string]any
		}
		if err := json.Unmarshal([]byte(d), &k); err != nil {
			t.Fatalf("%v in %q", err, d)
		}
		if k.Error != nil {
			got["code"], got["message"] = k.Error["code"], k.Error["message"]
		}
		if k.Execution != nil {
			got["execution"] = steady(k.Execution)
		}
		for _, choice := range k.Choices {
			content += choice.Delta.Content + choice.Message.Content
			for i, call := range append(choice.Delta.ToolCalls, choice.Message.ToolCalls...) {
				at := call.Index
				if len(choice.Message.ToolCalls) > 0 {
					at = i
				}
				if call.Function.Name != "" {
					names = append(names, call.Function.Name)
				}
				args[at] += call.Function.Arguments
			}
			if choice.FinishReason != "" {
				got["finish_reason"] = choice.FinishReason
			}
		}
	}
	calls := []any{}
	for i, name := range names {
		calls = append(calls, name+"("+args[i]+")")
	}
	got["content"], got["calls"] = content, calls
}

// steady takes the times out of an extension.
func steady(extension any) any {
	if m, ok := extension.(map[string]any); ok {
		for _, key := range []string{"latency_ms", "first_token_ms"} {
			if _, ok := m[key].(float64); ok {
				delete(m, key)
			}
		}
	}
	return extension
}

// checkHeader compares the headers of a whole answer, and looks for what they say in
// the comment of a stream.
func (c guardCase) checkHeader(t *testing.T, r result, stream bool) {
	t.Helper()
	for line := range strings.Lines(c.files["want/header.txt"]) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), ":")
		got := r.header.Get(name)
		if stream && got == "" {
			m := regexp.MustCompile(` ` + commentKey(name) + `=(\S+)`).FindStringSubmatch(r.body)
			if m != nil {
				got = m[1]
			}
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

// checkSent compares what the upstream got.
func (c guardCase) checkSent(t *testing.T, n int, body string) {
	t.Helper()
	text, ok := c.files[fmt.Sprintf("want/sent/%d.json", n)]
	if !ok {
		return
	}
	var want, got map[string]any
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatalf("want/sent/%d.json: %v", n, err)
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatalf("%v in what was sent: %s", err, body)
	}
	if messages, ok := got["messages"].([]any); ok && len(messages) > 0 {
		got["last"], got["first"], got["count"] = messages[len(messages)-1], messages[0], float64(len(messages))
	}
	for key, value := range want {
		if pattern, ok := value.(string); ok && strings.HasPrefix(pattern, "~") {
			if text := fmt.Sprint(got[key]); !regexp.MustCompile(pattern[1:]).MatchString(text) {
				t.Errorf("request %d: %s: got %q, want %s", n, key, text, pattern)
			}
			continue
		}
		if !reflect.DeepEqual(got[key], value) {
			t.Errorf("request %d: %s:\n got %v\nwant %v", n, key, got[key], value)
		}
	}
}
