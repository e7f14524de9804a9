package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// structuredConfig is the demo behind each policy.
const structuredConfig = `admin: {listen: "127.0.0.1:0"}
log: {level: error}
defaults: {execution_metadata: body}
providers:
  pass: {type: demo}
  reject: {type: demo, on_invalid_output: reject}
  reask: {type: demo, on_invalid_output: reask}
  report: {type: demo, structured_output: report}
  off: {type: demo, structured_output: off}
  prompted: {type: demo, response_format: prompted, on_invalid_output: reask}
models: {"*": {targets: [{provider: pass}]}}
`

const (
	wantedSchema = `{"type":"object","properties":{"city":{"type":"string"},"degrees":{"type":"integer"}},"required":["city","degrees"],"additionalProperties":false}`
	wantedJSON   = `{"city":"Oslo","degrees":3}`
)

// askStructured asks a model for JSON by a protocol, and gives the text of the answer.
func askStructured(t *testing.T, g *gate, protocol, model string, stream bool) (r result, text string) {
	t.Helper()
	const prompt = `"What is the weather in Oslo?"`
	switch protocol {
	case "chat":
		r = g.chat(fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":%s}],"response_format":{"type":"json_schema","json_schema":{"name":"weather","strict":true,"schema":%s}}}`,
			model, stream, prompt, wantedSchema))
	case "responses":
		r = g.respond(fmt.Sprintf(`{"model":%q,"stream":%t,"input":%s,"store":false,"text":{"format":{"type":"json_schema","name":"weather","strict":true,"schema":%s}}}`, model, stream, prompt, wantedSchema))
	case "messages":
		r = g.messages(fmt.Sprintf(`{"model":%q,"max_tokens":500,"stream":%t,"messages":[{"role":"user","content":%s}],"output_config":{"format":{"type":"json_schema","schema":%s}}}`, model, stream, prompt, wantedSchema))
	}
	return r, answerText(t, protocol, r.body, stream)
}

// textOf is the text of an answer, in any protocol.
func answerText(t *testing.T, protocol, body string, stream bool) (text string) {
	t.Helper()
	type part struct {
		Type    string
		Delta   json.RawMessage
		Choices []struct {
			Message, Delta struct{ Content string }
		}
		Output  []struct{ Content []struct{ Text string } }
		Content []struct{ Text string }
	}
	read := func(data string) {
		var p part
		if err := json.Unmarshal([]byte(data), &p); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		for _, c := range p.Choices {
			text += c.Message.Content + c.Delta.Content
		}
		for _, o := range p.Output {
			for _, c := range o.Content {
				text += c.Text
			}
		}
		for _, c := range p.Content {
			text += c.Text
		}
		var delta struct{ Text string }
		switch {
		case p.Type == "response.output_text.delta":
			var s string
			_ = json.Unmarshal(p.Delta, &s)
			text += s
		case p.Type == "content_block_delta" && json.Unmarshal(p.Delta, &delta) == nil:
			text += delta.Text
		}
	}
	if !stream {
		if strings.HasPrefix(body, "{") {
			read(body)
		}
		return text
	}
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && data != "[DONE]" {
			read(data)
		}
	}
	return text
}

// TestStructuredDemo asks the demo's models that are wrong about JSON in all protocols, whole and
// streamed, through each policy.
func TestStructuredDemo(t *testing.T) {
	t.Parallel()
	g := serve(t, structuredConfig)
	t.Run("models", func(t *testing.T) {
		for _, tt := range []struct {
			model, result string
			text          string // of the answer; "" is wantedJSON, "-" an error
			attempts      string
		}{
			{"pass/native", "ok", "", "1"},
			{"pass/json_fenced", "repaired", "", "1"},
			{"pass/json_prose", "repaired", "", "1"},
			{"pass/json_broken", "repaired", `{"city": "Oslo", "degrees": 3}`, "1"},
			{"pass/json_string", "repaired", "", "1"},
			{"pass/json_types", "repaired", "", "1"},
			{"pass/json_missing", "invalid;class=answer_schema;path=degrees", `{"city":"Oslo"}`, "1"},
			{"pass/json_text", "invalid;class=answer_json", "I would rather say it in words.", "1"},
			{"pass/json_open", "invalid;class=answer_json;path=degrees", `{"city":"Oslo","degrees":3`, "1"},
			{"report/json_fenced", "repaired", "```json\n" + wantedJSON + "\n```", "1"},
			{"report/json_missing", "invalid;class=answer_schema;path=degrees", `{"city":"Oslo"}`, "1"},
			{"off/json_missing", "", `{"city":"Oslo"}`, "1"},
			{"reject/json_fenced", "repaired", "", "1"},
			{"reject/json_missing", "", "-", "1"},
			{"reask/json_missing", "ok", "", "2"},
			{"reask/json_text", "ok", "", "2"},
			{"reask/json_twice", "ok", "", "2"},
			{"reask/json_open", "ok", "", "2"},
			{"reask/json_missing_always", "", "-", "2"},
			{"prompted/no_format", "ok", "", "1"},
			{"prompted/json_prose", "repaired", "", "1"},
		} {
			for _, protocol := range []string{"chat", "responses", "messages"} {
				for _, stream := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%s/stream %t", tt.model, protocol, stream), func(t *testing.T) {
						t.Parallel()
						r, text := askStructured(t, g, protocol, tt.model, stream)
						if got := r.header.Get("x-callgate-attempts"); got != tt.attempts {
							t.Errorf("got %s attempts, want %s: %s", got, tt.attempts, r.body)
						}
						want := tt.text
						switch want {
						case "":
							want = wantedJSON
						case "-":
							if r.status != 502 || !strings.Contains(r.body, "degrees: it is required and missing") {
								t.Errorf("got status %d: %s", r.status, r.body)
							}
							if protocol == "chat" && (!strings.Contains(r.body, `"code":"invalid_structured_output"`) || !strings.Contains(r.body, `"param":"choices[0].message.content: degrees"`)) {
								t.Errorf("got the error %s", r.body)
							}
							return
						}
						if strings.TrimSpace(text) != want || r.status != 200 {
							t.Errorf("got status %d, %q, want %q", r.status, text, want)
						}
						if got := r.header.Get("x-callgate-structured"); !stream && got != tt.result {
							t.Errorf("got x-callgate-structured: %q, want %q", got, tt.result)
						}
						if comment := "structured=" + tt.result; stream && protocol == "chat" && tt.result != "" && tt.result != "ok" && !strings.Contains(r.body, comment) {
							t.Errorf("the stream does not say %q: %s", comment, r.body)
						}
						if member := `"structured":{"result":`; protocol == "chat" && tt.result != "" && !strings.Contains(r.body, member) {
							t.Errorf("the body does not say %s: %s", member, r.body)
						}
					})
				}
			}
		}
	})
	metrics := g.adminDo("GET", "/metrics").body
	for _, line := range []string{`callgate_structured_answers_total{result="invalid",route="pass/*"}`, `callgate_structured_answers_total{result="ok",route="reask/*"}`,
		`callgate_tool_corrections_total{reason="answer_schema"}`, `callgate_tool_faults_total{class="answer_json"}`, `callgate_tool_repairs_total{kind="answer_fence"}`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("the metrics do not have %s", line)
		}
	}
}

// TestPromptedFormat holds what an upstream without response_format is sent: the schema behind the
// system prompt, in each form that this may have.
func TestPromptedFormat(t *testing.T) {
	t.Parallel()
	up := newSite(t, func(w http.ResponseWriter, r received) { // it answers with its request
		w.Header().Set("content-type", mimeJSON)
		io.WriteString(w, completion(strings.ReplaceAll(r.body, "\n", "")))
	})
	var s setup
	s.provider("up", up.url, "response_format: prompted")
	s.model("m", "up")
	g := serve(t, s.String())
	const told = `Answer with one JSON value and nothing else: no code fence, and no text before or behind it.`
	for messages, want := range map[string]string{
		`[{"role":"user","content":"Hi"}]`:                                                                     `[{"role":"system","content":"` + told + ` It must be an object."},{"role":"user","content":"Hi"}]`,
		`[{"role":"system","content":"Be \"brief\"."},{"role":"user","content":"Hi"}]`:                         `[{"role":"system","content":"Be \"brief\".\n\n` + told + ` It must be an object."},{"role":"user","content":"Hi"}]`,
		`[{"role":"developer","content":[{"type":"text","text":"Be brief."}]},{"role":"user","content":"Hi"}]`: `[{"role":"developer","content":[{"type":"text","text":"Be brief."},{"type":"text","text":"` + told + ` It must be an object."}]},{"role":"user","content":"Hi"}]`,
		`[{"role":"system","content":""},{"role":"user","content":"Hi"}]`:                                      `[{"role":"system","content":"\n\n` + told + ` It must be an object."},{"role":"user","content":"Hi"}]`,
		`[{"role":"system","content":[]},{"role":"user","content":"Hi"}]`:                                      `[{"role":"system","content":[{"type":"text","text":"` + told + ` It must be an object."}]},{"role":"user","content":"Hi"}]`,
	} {
		r := g.chat(`{"model":"m","response_format":{"type":"json_object"},"messages":` + messages + `}`)
		want = `{"model":"up","messages":` + want + `}`
		if got := answerText(t, "chat", r.body, false); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if r.header.Get("x-callgate-repairs") != "prompted_format=1" {
			t.Errorf("got the repairs %q", r.header.Get("x-callgate-repairs"))
		}
	}
	for format, want := range map[string]string{
		`{"type":"text"}`: `"response_format":{"type":"text"}`,
		`null`:            `"response_format":null`,
		`{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"array"}}}`: told + ` It must fit this JSON schema:\n{\"type\":\"array\"}`,
	} {
		if r := g.chat(`{"model":"m","messages":[{"role":"user","content":"Hi"}],"response_format":` + format + `}`); !strings.Contains(answerText(t, "chat", r.body, false), want) {
			t.Errorf("%s: got %s, want %s in it", format, r.body, want)
		}
	}
}
