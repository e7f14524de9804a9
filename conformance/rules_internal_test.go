package conformance

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// frame is an event of a stream with one choice.
func frame(choice string) string {
	return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[` + choice + `]}` + "\n\n"
}

const (
	role   = `{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`
	begin  = `{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{"}}]},"finish_reason":null}`
	goOn   = `{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"finish_reason":null}`
	calls  = `{"index":0,"delta":{},"finish_reason":"tool_calls"}`
	stop   = `{"index":0,"delta":{},"finish_reason":"stop"}`
	length = `{"index":0,"delta":{},"finish_reason":"length"}`
	done   = "data: [DONE]\n\n"
	failed = `data: {"error":{"message":"m","type":"server_error"}}` + "\n\n"
)

// joined is what is wrong, in one text.
func joined(faults []Fault) string {
	var texts []string
	for _, f := range faults {
		texts = append(texts, f.Text)
	}
	return strings.Join(texts, "; ")
}

// TestStreamRules gives streams that break a rule each, and some that do not.
func TestStreamRules(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, stream, want string }{
		{"good", frame(role) + frame(begin) + frame(goOn) + frame(calls) + done, ""},
		{"comments and CR LF", ": a\r\n\r\n" + strings.ReplaceAll(frame(role)+frame(stop)+done, "\n", "\r\n"), ""},
		{"error at the end", frame(role) + frame(begin) + failed, ""},
		{"call that was cut", frame(role) + frame(begin) + frame(length) + done, ""},
		{"no [DONE]", frame(role) + frame(stop), "ends without [DONE]"},
		{"[DONE] twice", frame(role) + frame(stop) + done + done, "comes after [DONE]"},
		{"[DONE] not last", frame(role) + done + frame(stop), "comes after [DONE]"},
		{"[DONE] after an error", frame(role) + failed + done, "comes after an error"},
		{"two errors", frame(role) + failed + failed, "comes after an error"},
		{"no empty line", frame(role) + frame(stop) + "data: [DONE]\n", "not ended by an empty line"},
		{"two events in one", strings.TrimSuffix(frame(role), "\n") + frame(stop) + done, "is no chunk"},
		{"text without a field", frame(role) + "oops\n\n" + frame(stop) + done, "no field of an event"},
		{"no role", frame(stop) + done, "no delta of choice 0 has the role"},
		{"no finish reason", frame(role) + done, "0 finish reasons"},
		{"two finish reasons", frame(role) + frame(stop) + frame(stop) + done, "2 finish reasons"},
		{"text after the finish reason", frame(role) + frame(stop) + frame(`{"index":0,"delta":{"content":"x"}}`) + done, "goes on after its finish reason"},
		{"no index", frame(role) + frame(strings.Replace(begin, `"index":0,"id"`, `"id"`, 1)) + frame(calls) + done, "has no index"},
		{"gap between indexes", frame(role) + frame(strings.Replace(begin, `"index":0,"id"`, `"index":1,"id"`, 1)) + frame(calls) + done, "comes where 0 is next"},
		{"no id", frame(role) + frame(strings.Replace(begin, `"id":"a",`, "", 1)) + frame(goOn) + frame(calls) + done, "must begin with its id"},
		{"name twice", frame(role) + frame(begin) + frame(begin) + frame(calls) + done, "id or name again"},
		{"half the arguments", frame(role) + frame(begin) + frame(calls) + done, "no JSON object"},
		{"tool_calls without a call", frame(role) + frame(calls) + done, "there is no call"},
		{"another id", frame(role) + strings.Replace(frame(stop), `"id":"c"`, `"id":"d"`, 1) + done, "want the same in all chunks"},
		{"another object", strings.Replace(frame(role), "chat.completion.chunk", "chat.completion", 1) + frame(stop) + done, "object: got"},
		{"choice 1 alone", frame(strings.Replace(role, `"index":0`, `"index":1`, 1)) + frame(strings.Replace(stop, `"index":0`, `"index":1`, 1)) + done, "none with index 0"},
	} {
		got := joined(readStream([]byte(tt.stream)).faults)
		if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q in it", tt.name, got, tt.want)
		}
	}
}

func TestWholeRules(t *testing.T) {
	t.Parallel()
	answer := func(message, finish string) string {
		return `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":` + message + `,"finish_reason":"` + finish + `"}]}`
	}
	call := func(args string) string {
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":` + args + `}}]}`
	}
	for _, tt := range []struct{ name, body, want string }{
		{"good", answer(call(`"{}"`), "tool_calls"), ""},
		{"no JSON", `{"id"`, "is no completion"},
		{"arguments that are an object", answer(call(`{}`), "tool_calls"), "is no completion"},
		{"arguments that are a list", answer(call(`"[]"`), "tool_calls"), "no JSON object"},
		{"no role", answer(`{"content":"x"}`, "stop"), "message.role"},
		{"no message", answer("null", "stop"), "message: is missing"},
		{"tool_calls without a call", answer(`{"role":"assistant"}`, "tool_calls"), "there is no call"},
		{"no id", strings.Replace(answer(call(`"{}"`), "stop"), `"id":"a",`, "", 1), "want one of its own"},
	} {
		got := joined(readWhole([]byte(tt.body)).faults)
		if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q in it", tt.name, got, tt.want)
		}
	}
}

// TestAnswerRules gives answers that a case does not want.
func TestAnswerRules(t *testing.T) {
	t.Parallel()
	c := Case{Level: Core, Want: Want{Answers: []Answer{{Content: "x", FinishReason: "stop"}}}}
	seven := "7"
	e := Case{Level: Core, HTTP: []Step{{}}, Want: Want{Status: [][]string{{"429"}}, Header: map[string]*string{"retry-after": &seven}, Error: []byte(`{"error":{"type":"t"}}`)}}
	json, events := http.Header{"Content-Type": {"application/json"}}, http.Header{"Content-Type": {"text/event-stream"}}
	good := frame(`{"index":0,"delta":{"role":"assistant","content":"x"},"finish_reason":null}`) + frame(stop) + done
	for _, tt := range []struct {
		name   string
		c      Case
		stream bool
		a      answered
		want   string
	}{
		{"good", c, true, answered{status: 200, header: events, body: []byte(good)}, ""},
		{"status", c, true, answered{status: 500, header: events, body: []byte(good)}, "status: got 500"},
		{"content type", c, true, answered{status: 200, header: json, body: []byte(good)}, "content type"},
		{"content", c, true, answered{status: 200, header: events, body: []byte(strings.Replace(good, `"x"`, `"y"`, 1))}, `content: got "y"`},
		{"error", c, true, answered{status: 200, header: events, body: []byte(frame(role) + failed)}, "ends with an error"},
		{"no retry-after", e, false, answered{status: 429, header: json, body: []byte(`{"error":{"message":"m","type":"t"}}`)}, "header retry-after"},
		{"another type", e, false, answered{status: 429, header: json, body: []byte(`{"error":{"message":"m","type":"u"}}`)}, "error body.error.type"},
		{"no message", e, false, answered{status: 429, header: json, body: []byte(`{"error":{"type":"t"}}`)}, "must have a message"},
	} {
		got := joined(tt.c.checkAnswer(&tt.c.allWants()[0], &played{answer: &tt.a}, &exchange{stream: tt.stream}, gotten{}))
		if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q in it", tt.name, got, tt.want)
		}
	}
}

// TestJoinDeltas checks that deltas which only the cutting tells apart are the same.
func TestJoinDeltas(t *testing.T) {
	t.Parallel()
	const (
		name = `{"tool_calls":[{"index":0,"name":"f","arguments":""}]}`
		next = `{"tool_calls":[{"index":1,"name":"f","arguments":"{}"}]}`
		end  = `{"finish_reason":"tool_calls"}`
		cut  = `{"finish_reason":"length"}`
	)
	for _, tt := range []struct {
		name, got, want string
	}{
		{"role", `{"role":"assistant"} {"content":"x"}`, `{"content":"x"}`},
		{"text", `{"content":"x"} {"content":"y"} {"reasoning_content":"z"}`, `{"content":"xy"} {"reasoning_content":"z"}`},
		{"call", name + ` {"tool_calls":[{"index":0,"arguments":"{"}]} {"tool_calls":[{"index":0,"arguments":"}"}]} ` + next + " " + end,
			`{"tool_calls":[{"index":0,"name":"f","arguments":"{}"}]} ` + next + " " + end},
		{"all in one", `{"role":"assistant","content":"x","tool_calls":[{"index":0,"name":"f","arguments":"{}"}],"finish_reason":"tool_calls"}`,
			`{"content":"x"} {"tool_calls":[{"index":0,"name":"f","arguments":"{}"}]} ` + end},
		{"cut call", name + ` {"tool_calls":[{"index":0,"arguments":"{\"a"}]} ` + cut, cut},
		{"complete call", next + " " + cut, next + " " + cut},
	} {
		if got := strings.Join(joinDeltas(strings.Split(tt.got, " ")), " "); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestFormatEvents(t *testing.T) {
	t.Parallel()
	got := FormatEvents([]Event{
		{Kind: "reasoning", Text: "a <b>"}, {Kind: "content", Text: "x"}, {Kind: "content"}, {Kind: "content", Text: "\n"},
		{Kind: "call_start", Name: "f", ID: "1"}, {Kind: "args", Text: "{"}, {Kind: "args", Text: "}"}, {Kind: "call_end"},
		{Kind: "call_start", Index: 1, Name: "g"}, {Kind: "cut", Index: 1}, {Kind: "was_reasoning"},
	})
	const want = `reasoning "a <b>"
content "x\n"
call_start 0 "f" "1"
args 0 "{}"
call_end 0
call_start 1 "g"
cut 1
was_reasoning
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var w Want
	if err := w.setEvents([]byte("# a comment\n\n" + got)); err != nil || strings.Join(w.Events, "\n")+"\n" != want {
		t.Errorf("read back: %q (%v)", w.Events, err)
	}
	if err := w.setEvents([]byte(FormatEvents(nil))); err != nil || w.Events == nil || len(w.Events) > 0 {
		t.Errorf("no events are read back as %q (%v)", w.Events, err)
	}
}

// TestGot checks what the files of want would be for an answer.
func TestGot(t *testing.T) {
	t.Parallel()
	c := Case{Level: Core, Want: Want{Answers: []Answer{{ToolCalls: []Call{{ID: "mine"}}}}, Upstream: []byte("{}"), StreamError: []byte(`{"error":{"type":"t"}}`)}, Asked: []string{"want/status"}}
	call := `{"role":"assistant","content":"<x>","tool_calls":[{"id":"b","type":"function","function":{"name":"f","arguments":"{\"n\": 1.0}"}},{"id":"c","type":"function","function":{"name":"g","arguments":"{}"}}]}`
	whole := `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":` + call + `,"finish_reason":"tool_calls"}]}`
	got := gotten{}
	b := &c.allWants()[0]
	c.checkAnswer(b, &played{answer: &answered{status: 200, header: http.Header{"Content-Type": {"application/json"}}, body: []byte(whole)}}, &exchange{}, got)
	c.checkAnswer(b, &played{answer: &answered{status: 200, header: http.Header{"Content-Type": {"text/event-stream"}}, body: []byte(frame(role) + failed)}}, &exchange{stream: true}, got)
	c.checkReceived(b, &played{model: "m", received: []received{{body: []byte(`{"model":"m","stream":true,"n":1e3}`)}}}, &exchange{stream: true}, got)
	for name, want := range map[string]string{
		"want/status":            "200\n",
		"want/response.json":     "{\n  \"content\": \"<x>\",\n  \"tool_calls\": [\n    {\"id\": \"b\", \"name\": \"f\", \"arguments\": {\"n\": 1.0}},\n    {\"name\": \"g\", \"arguments\": {}}\n  ],\n  \"finish_reason\": \"tool_calls\"\n}\n",
		"want/stream_error.json": "{\n  \"error\": {\n    \"type\": \"server_error\"\n  }\n}\n",
	} {
		if got[name] != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got[name], want)
		}
	}
}

func TestDiffer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		want, got string
		beside    bool
		differ    string
	}{
		{`{"a":[1.0,null]}`, `{"a": [1.0, null]}`, false, ""},
		{`{"a":1}`, `{"a":1,"b":2}`, true, ""},
		{`{"a":1}`, `{"a":1,"b":2}`, false, "v.b: got 2, want no such member"},
		{`{"a":1.0}`, `{"a":1}`, false, "v.a: got 1, want 1.0"},
		{`{"a":null}`, `{}`, true, "v.a: is missing, want null"},
		{`[{"a":"<"}]`, `[{"a":{}}]`, false, `v[0].a: got {}, want "<"`},
		{`[1]`, `[1,2]`, false, "v: got [1,2], want [1]"},
		{`1`, `1 2`, false, "v: is no JSON"},
	} {
		got := joined(Core.grade(differJSON("v", []byte(tt.want), []byte(tt.got)), map[bool]Level{false: Core}[tt.beside]))
		if (tt.differ == "") != (got == "") || !strings.Contains(got, tt.differ) {
			t.Errorf("%s and %s: got %q, want %q", tt.want, tt.got, got, tt.differ)
		}
	}
}

// FormSources are the sources that rules for every answer cite.
func FormSources() (keys []string) {
	for _, r := range formRules {
		keys = append(keys, r.sources...)
	}
	return keys
}

// TestFormRules checks that a rule for every answer says what must hold, and that one of the
// level core cites a source.
func TestFormRules(t *testing.T) {
	t.Parallel()
	for name, r := range formRules {
		if len(r.says) < 20 || r.level.rank() < 0 || (r.level == Core) != (r.sources != nil) {
			t.Errorf("%s: got %+v, want a rule, and a source where it is of the level core", name, r)
		}
	}
}

func TestSameNumber(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"1", "1.0", true}, {"100", "1e2", true}, {"-0.5", "-5E-1", true}, {"0", "-0.0", true}, {"1e400", "10e399", true},
		{"1", "-1", false}, {"12345678901234567890", "12345678901234567000", false}, {"0.1", "0.10000000000000001", false},
	} {
		if sameNumber(tt.a, tt.b) != tt.same {
			t.Errorf("%s and %s: got %t", tt.a, tt.b, !tt.same)
		}
	}
}

// spoken is what an upstream writes of a said in a protocol, as a client reads it.
func spoken(t *testing.T, s *said, p protocol, stream bool) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	s.answer(w, p, "m", stream, true)
	return w.Body.Bytes()
}

// TestSpoken reads what the suite's upstream writes: it keeps the rules itself, and means the
// same in every protocol.
func TestSpoken(t *testing.T) {
	t.Parallel()
	s := &said{Reasoning: "Think of it.", Content: "Sunny, ☀.", FinishReason: "tool_calls", ToolCalls: []Call{
		{ID: "call_a", Name: "f", Arguments: []byte(`{"a":"b c","n":1}`)}, {ID: "call_b", Name: "g", Arguments: []byte(`{}`)}}}
	for _, finish := range []string{"tool_calls", "length"} {
		s.FinishReason = finish
		want := []Answer{{Content: s.Content, Reasoning: s.Reasoning, ToolCalls: s.ToolCalls, FinishReason: finish}}
		for p, path := range map[protocol]string{chatAPI: "", responsesAPI: "/responses", messagesAPI: "/messages"} {
			for _, stream := range []bool{false, true} {
				c := Case{Level: Core, Path: path, Want: Want{Answers: want}}
				body := spoken(t, s, p, stream)
				r := c.readWhole(body)
				if stream {
					r = c.readStream(body)
				}
				if len(r.faults) > 0 {
					t.Errorf("%s, stream %t: got faults %v in\n%s", path, stream, r.faults, body)
				}
				e := exchange{script: script{says: []*said{s}}}
				if faults := c.checkMeaning(&c.allWants()[0], r, &e); len(faults) > 0 {
					t.Errorf("%s, stream %t: %v", path, stream, faults)
				}
			}
		}
	}
}

// TestEventRules breaks the streams of responses and messages in one place each.
func TestEventRules(t *testing.T) {
	t.Parallel()
	s := &said{Reasoning: "Hm.", Content: "Sunny.", FinishReason: "tool_calls", ToolCalls: []Call{{ID: "call_a", Name: "f", Arguments: []byte(`{"a":"b c"}`)}}}
	for _, tt := range []struct {
		path      string
		old, with string
		want      string
	}{
		{"/responses", "event: response.created\n", "event: x\n", "the event line says"},
		{"/responses", `"sequence_number":0`, `"sequence_number":1`, "sequence_number"},
		{"/responses", `"type":"response.created"`, `"type":"response.queued"`, "before response.created"},
		{"/responses", `"id":"resp_upstream"`, `"id":"resp_other"`, "the response has the id"},
		{"/responses", `"type":"response.output_item.added"`, `"type":"response.x"`, "which was not added"},
		{"/responses", `"type":"response.content_part.added"`, `"type":"response.x"`, "before its part is added"},
		{"/responses", `"delta":"Sunny"`, `"delta":"Rainy"`, "its pieces say"},
		{"/responses", `"type":"response.output_item.done"`, `"type":"response.x"`, "never done"},
		{"/responses", `"type":"response.completed"`, `"type":"response.x"`, "the stream ends without"},
		{"/responses", `"text":"Sunny.","type":"response.output_text.done"`, `"text":"Sunny","type":"response.output_text.done"`, "says"},
		{"/responses", `"item_id":"msg_upstream"`, `"item_id":"msg_other"`, "item_id"},
		{"/responses", `"call_id":"call_a"`, `"call_no":"call_a"`, "call_id"},
		{"/responses", `"total_tokens"`, `"total"`, "usage.total_tokens"},
		{"/responses", `"input_tokens_details"`, `"details"`, "usage.input_tokens_details"},
		{"/responses", `"tool_choice"`, `"choice"`, "response.tool_choice"},
		{"/responses", `"service_tier"`, `"tier"`, "response.service_tier"},
		{"/messages", "event: message_start\n", "", "the event line says"},
		{"/messages", `"type":"message_start"`, `"type":"message_begin"`, "before message_start"},
		{"/messages", `"index":1,"type":"content_block_start"`, `"index":2,"type":"content_block_start"`, "is next"},
		{"/messages", `"index":0,"type":"content_block_stop"`, `"index":5,"type":"content_block_stop"`, "which is not open"},
		{"/messages", `"type":"content_block_stop"`, `"type":"x"`, "none may be open"},
		{"/messages", `"type":"text_delta"`, `"type":"thinking_delta"`, "within a block of the type"},
		{"/messages", `"partial_json":"{\"a\":"`, `"partial_json":"{\"a\""`, "join to no JSON object"},
		{"/messages", `"type":"message_delta"`, `"type":"x"`, "before message_delta"},
		{"/messages", `"type":"message_stop"`, `"type":"x"`, "ends without message_delta and message_stop"},
		{"/messages", `"stop_reason":"tool_use"`, `"stop":"tool_use"`, "stop_reason"},
		{"/messages", `"output_tokens":2003`, `"tokens":2003`, "output_tokens"},
		{"/messages", `"role":"assistant"`, `"role":"user"`, "role"},
		{"/messages", `"name":"f"`, `"title":"f"`, "name"},
	} {
		c := Case{Path: tt.path}
		good := string(spoken(t, s, c.protocol(), true))
		bad := strings.Replace(good, tt.old, tt.with, 1)
		if bad == good {
			t.Errorf("%s: there is no %s in\n%s", tt.path, tt.old, good)
			continue
		}
		if tt.want == "its pieces say" || strings.Contains(tt.old, "tokens") || strings.Contains(tt.old, "call_id") || strings.Contains(tt.old, "tool_choice") {
			bad = strings.ReplaceAll(good, tt.old, tt.with)
		}
		if got := joined(c.readStream([]byte(bad)).faults); !strings.Contains(got, tt.want) {
			t.Errorf("%s without %s: got %q, want %q in it", tt.path, tt.old, got, tt.want)
		}
	}
}

// TestRefusal checks that the upstream refuses as real servers do what it is not asked for well.
func TestRefusal(t *testing.T) {
	t.Parallel()
	up := NewUpstream()
	up.learn("m")
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/v1/chat/completions", `{"model": "m", "messages": []`, 400, "invalid_request_error"},
		{"POST", "/v1/chat/completions", `[]`, 400, "invalid_request_error"},
		{"POST", "/v1/chat/completions", `{"messages": []}`, 400, "model"},
		{"POST", "/v1/chat/completions", `{"model": 7, "messages": []}`, 400, "invalid_type"},
		{"POST", "/v1/chat/completions", `{"model": "x", "messages": []}`, 404, "model_not_found"},
		{"POST", "/v1/chat/completions", `{"model": "m"}`, 400, "missing_required_parameter"},
		{"POST", "/v1/chat/completions", `{"model": "m", "messages": [], "stream": "yes"}`, 400, "invalid_type"},
		{"POST", "/v1/chat/completions", `{"model": "m", "messages": [], "tools": {}}`, 400, "invalid_type"},
		{"GET", "/v1/chat/completions", ``, 405, "method_not_supported"},
		{"POST", "/v1/responses", `{"model": "m", "input": "x"}`, 404, "Invalid URL"},
		{"POST", "/v1/nothing", `{"model": "m"}`, 404, "Invalid URL"},
		{"POST", "/v1/chat/completions", `{"model": "m", "messages": [{"role": "user", "content": "x"}]}`, 200, "chat.completion"},
	} {
		_, end := up.begin("", &script{path: "/chat/completions"})
		w := httptest.NewRecorder()
		up.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body)))
		end()
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s %s: got %d %s, want %d with %q", tt.method, tt.path, tt.body, w.Code, w.Body, tt.status, tt.want)
		}
	}
}

// Judge is judge, for tests of reports.
func (o *Outcome) Judge(l Level, known bool) { o.judge(l, known) }

// TestFailureInStream gives streams with an error in them where a case wants a status: they are
// taken in the core of cases whose upstream has a good status itself, and nowhere else.
func TestFailureInStream(t *testing.T) {
	t.Parallel()
	events := http.Header{"Content-Type": {"text/event-stream"}}
	whole := frame(`{"index":0,"delta":{"role":"assistant","content":"x"},"finish_reason":null}`) + frame(stop) + done
	for _, tt := range []struct {
		name   string
		level  Level
		status []string
		a      answered
		faulty bool
	}{
		{"an error in a stream", Core, []string{"4xx", "5xx"}, answered{status: 200, header: events, body: []byte(frame(role) + failed)}, false},
		{"a good stream", Core, []string{"4xx", "5xx"}, answered{status: 200, header: events, body: []byte(whole)}, true},
		{"a status of its own is wanted", Core, []string{"429"}, answered{status: 200, header: events, body: []byte(frame(role) + failed)}, true},
		{"a level above", Own, []string{"4xx", "5xx"}, answered{status: 200, header: events, body: []byte(frame(role) + failed)}, true},
		{"broken off", Core, []string{"5xx", Broken}, answered{status: 200, header: events, body: []byte(frame(role)), cut: io.ErrUnexpectedEOF}, false},
		{"broken off, and not to be", Core, []string{"200"}, answered{status: 200, header: events, body: []byte(whole), cut: io.ErrUnexpectedEOF}, true},
	} {
		c := Case{Level: tt.level, HTTP: []Step{{}}, Want: Want{Status: [][]string{tt.status}}}
		faults := c.checkAnswer(&c.allWants()[0], &played{answer: &tt.a}, &exchange{stream: true}, gotten{})
		if len(faults) > 0 != tt.faulty {
			t.Errorf("%s: got %v, want faults: %t", tt.name, faults, tt.faulty)
		}
	}
}
