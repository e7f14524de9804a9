package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const passageRequest = `{"model":"m","max_tokens":99,"stream":true,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{"type":"integer"}}}}]}`

// passageGate is a gateway in front of an upstream of the Messages API that answers with what the returned function is given.
func passageGate(t *testing.T, target, rest string) func(answer string) result {
	t.Helper()
	var mu sync.Mutex
	var answer string
	url := upstream(t, func(w http.ResponseWriter, _ received) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("content-type", events)
		io.WriteString(w, answer)
	})
	g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: anthropic, base_url: %q, empty_completion: pass, retry: {max_retries: 0}}}\nmodels: {m: {targets: [{provider: up, model: claude-x%s}]}}\n%s", url, target, rest))
	return func(next string) result {
		mu.Lock()
		answer = next
		mu.Unlock()
		r := g.do(g.request("POST", "/v1/messages", passageRequest))
		if r.status != http.StatusOK {
			t.Fatalf("got status %d: %s", r.status, r.body)
		}
		return r
	}
}

// TestMessagesPassage has streams in which nothing is wrong, with what nobody here knows in any place, null, white space and
// pings: a client of the same API gets the bytes of their data, also where calls wait until they are whole.
func TestMessagesPassage(t *testing.T) {
	t.Parallel()
	for name, config := range map[string][2]string{
		"plain": {}, "read": {", parser: hermes"}, "strict": {", parser: hermes, on_invalid_call: reject, on_invalid_output: reject", "defaults: {tool_binding: refuse}\n"},
		"off": {", tool_calls: off"}, "report": {", tool_calls: report"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask := passageGate(t, config[0], config[1])
			for seed := range uint64(150) {
				s := drawStream(seed, "")
				r := ask(s.sse())
				sameData(t, r.body, s.sse())
				nothingSaid(t, r)
			}
		})
	}
}

// TestMessagesPassageFaults has streams in which one block is changed: all in front of it goes on as it came, and the message
// that a client puts together is the upstream's but for that.
func TestMessagesPassageFaults(t *testing.T) {
	t.Parallel()
	ask := passageGate(t, ", parser: hermes", "")
	for seed := range uint64(300) {
		for _, fault := range []string{"arguments", "text"} {
			s := drawStream(seed, fault)
			r := ask(s.sse())
			if got := streamData(t, r.body); len(got) < s.sound || !slices.Equal(got[:s.sound], s.datas[:s.sound]) {
				t.Fatalf("seed %d, %s: got\n%s\nof\n%s", seed, fault, r.body, s.sse())
			}
			got, want := putTogether(t, r.body), putTogether(t, s.sse())
			if fault == "text" {
				want.readText()
				got.trim()
				want.trim()
			}
			if want.reason = "end_turn"; slices.ContainsFunc(want.content, func(b putBlock) bool { return b.kind == "tool_use" }) {
				want.reason = "tool_use"
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %s: got\n%+v\nwant\n%+v\nof\n%s\nin\n%s", seed, fault, got, want, s.sse(), r.body)
			}
		}
	}
}

// putMessage is what a stream comes to, by the rules of the API's clients.
type putMessage struct {
	content []putBlock
	reason  string
}

// putBlock is a block; what has a text of its own is only that.
type putBlock struct {
	kind, text, input string
	begin             string // of a block of another kind, as JSON
}

// putTogether puts a stream together, of which the blocks must neither overlap nor leave a number out.
func putTogether(t *testing.T, sse string) *putMessage {
	t.Helper()
	m, open := &putMessage{}, false
	for _, data := range streamData(t, sse) {
		var e struct {
			Type  string
			Index int
			Block map[string]any `json:"content_block"`
			Delta struct {
				Type, Text, Thinking string
				JSON                 string `json:"partial_json"`
				Reason               string `json:"stop_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(e.Type, "content_block_") && e.Type != "content_block_new" {
			place := len(m.content)
			if e.Type != "content_block_start" {
				place--
			}
			if e.Index != place || open != (e.Type != "content_block_start") {
				t.Fatalf("got %s at block %d, open %v, in\n%s", data, place, open, sse)
			}
		}
		switch e.Type {
		case "content_block_start":
			open = true
			b := putBlock{kind: e.Block["type"].(string)}
			switch b.kind {
			case "text", "thinking":
			case "tool_use":
				input, _ := json.Marshal(e.Block["input"])
				b.input = string(input)
			default:
				begin, _ := json.Marshal(e.Block)
				b.begin = string(begin)
			}
			m.content = append(m.content, b)
		case "content_block_delta":
			b := &m.content[e.Index]
			b.text += e.Delta.Text + e.Delta.Thinking + e.Delta.JSON
		case "content_block_stop":
			open = false
			if b := &m.content[e.Index]; b.kind == "tool_use" {
				if b.text != "" {
					b.input = b.text
				}
				b.input, b.text = repairedInput(b.input), ""
			}
		case "message_delta":
			m.reason = e.Delta.Reason
		}
	}
	return m
}

// repairedInput is an input as it is to come, with its members in one form.
func repairedInput(input string) string {
	var v any
	if json.Unmarshal([]byte(strings.NewReplacer(",}", "}", "'", `"`).Replace(input)), &v) != nil {
		return input
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// readText makes of a text that has a call a text and a call.
func (m *putMessage) readText() {
	at := slices.IndexFunc(m.content, func(b putBlock) bool { return strings.Contains(b.text, "<tool_call>") })
	m.content[at].text = "Well."
	m.content = slices.Insert(m.content, at+1, putBlock{kind: "tool_use", input: `{"a":7}`})
}

// trim takes the white space around texts away: what stands around a call that is taken out of a text is not kept.
func (m *putMessage) trim() {
	for i := range m.content {
		m.content[i].text = strings.TrimSpace(m.content[i].text)
	}
}

// TestMessagesPassageAtOnce has an upstream that sends an event when the client has got the one before.
func TestMessagesPassageAtOnce(t *testing.T) {
	t.Parallel()
	all := strings.SplitAfter(strings.TrimSpace(messageStream(
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Eo=="}}`,
		`{"type":"content_block_stop","index":0}`, `{"type":"ping"}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"one"}}`, `{"type":"new_event"}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":""}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`,
		`{"type":"content_block_stop","index":2}`,
	))+"\n\n", "\n\n")
	all = all[:len(all)-1]
	// The first thought begins the answer, a text begins with its first piece, and an answer is over at its end.
	late := func(i int) bool {
		return i < 2 || i >= len(all)-2 || strings.Contains(all[i], `"content_block":{"type":"text"`)
	}
	goOn := make(chan bool, len(all))
	url := upstream(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("content-type", events)
		for i, event := range all {
			send(w, event)
			if !late(i) {
				<-goOn
			}
		}
	})
	g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: anthropic, base_url: %q}}\nmodels: {m: {targets: [{provider: up, model: claude-x}]}}", url))
	resp, err := g.client.Do(g.request("POST", "/v1/messages", passageRequest))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got []byte
	for i := range all {
		if late(i) {
			continue
		}
		for want := strings.Join(all[:i+1], ""); len(got) < len(want); {
			b := make([]byte, 4<<10)
			n, err := resp.Body.Read(b)
			if got = append(got, b[:n]...); err != nil {
				t.Fatalf("%v behind\n%s", err, got)
			}
		}
		goOn <- true
	}
	rest, _ := io.ReadAll(resp.Body)
	sameData(t, string(got)+string(rest), strings.Join(all, ""))
}

// messageStream is a stream of events, between the beginning and the end of a message.
func messageStream(datas ...string) string {
	const begin = `{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`
	reason := "end_turn"
	if slices.ContainsFunc(datas, func(s string) bool { return strings.Contains(s, `"tool_use"`) }) {
		reason = "tool_use"
	}
	end := `{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":2}}`
	return streamOf(slices.Concat([]string{begin}, datas, []string{end, `{"type":"message_stop"}`})...)
}

// streamOf is a stream of events, each by the name of its type.
func streamOf(datas ...string) string {
	var b strings.Builder
	for _, data := range datas {
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(data), &e)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.Type, data)
	}
	return b.String()
}

// TestMessagesPassageEdits has streams of which something is changed on purpose: that alone is, and nothing comes twice.
func TestMessagesPassageEdits(t *testing.T) {
	t.Parallel()
	const (
		text  = `{"type":"content_block_start", "index":%d,"content_block":{"text":"","type":"text"}}`
		said  = `{"type":"content_block_delta", "index":%d,"delta":{"text":"ok","type":"text_delta","new":null}}`
		stop  = `{"type":"content_block_stop", "index":%d,"new":null}`
		call  = `{"type":"content_block_start", "index":%d,"content_block":{"id":"toolu_1","type":"tool_use","name":"f","input":%s}}`
		piece = `{"type":"content_block_delta", "index":%d,"delta":{"partial_json":%q,"type":"input_json_delta"}}`
		begin = `{"type":"message_start", "message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-x","content":%s,"stop_reason":null,"usage":{"input_tokens":1}}}`
		ended = `{"type":"message_delta", "delta":{"stop_reason":%q},"usage":{"output_tokens":2}}`
		last  = `{"type":"message_stop", "new":null}`
	)
	f := fmt.Sprintf
	hello := []string{f(text, 0), f(said, 0), f(stop, 0)}
	join := slices.Concat[[]string]
	list := func(all ...string) []string { return all }
	for name, tt := range map[string]struct {
		came, want []string
		content    string // in the place of want, where the blocks have to be put in order
	}{
		"an id of another form": {
			came: join(list(strings.Replace(f(begin, "[]"), "msg_01", "chat-1", 1)), hello, list(f(ended, "end_turn"), last)),
			want: join(list(strings.Replace(f(begin, "[]"), "msg_01", "msg_ID", 1)), hello, list(f(ended, "end_turn"), last)),
		},
		"no model": {
			came: join(list(strings.Replace(f(begin, "[]"), "claude-x", "", 1)), hello, list(f(ended, "end_turn"), last)),
			want: join(list(f(begin, "[]")), hello, list(f(ended, "end_turn"), last)),
		},
		"no usage in the beginning": {
			came: join(list(strings.Replace(f(begin, "[]"), `,"usage":{"input_tokens":1}`, "", 1)), hello, list(f(ended, "end_turn"), last)),
			want: join(list(`{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":28,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}`),
				hello, list(f(ended, "end_turn"), last)),
		},
		"no usage in the end": {
			came: join(list(f(begin, "[]")), hello, list(strings.Replace(f(ended, "end_turn"), `,"usage":{"output_tokens":2}`, "", 1), last)),
			want: join(list(f(begin, "[]")), hello, list(`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}`, `{"type":"message_stop","new":null}`)),
		},
		"a stop reason without its call": {
			came: join(list(f(begin, "[]")), hello, list(`{"type":"new_event"}`, f(ended, "tool_use"), `{"type":"ping","new":1}`, last)),
			want: join(list(f(begin, "[]")), hello, list(`{"type":"new_event"}`, `{"type":"ping","new":1}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2}}`, `{"type":"message_stop","new":null}`)),
		},
		"a call's id of another form": {
			came: list(f(begin, "[]"), strings.Replace(f(call, 0, "{}"), "toolu_1", "f:0", 1), f(piece, 0, `{"a":1}`), f(stop, 0), f(ended, "tool_use"), last),
			want: list(f(begin, "[]"), strings.Replace(f(call, 0, "{}"), "toolu_1", "toolu_cg_Zjow", 1), f(piece, 0, `{"a":1}`), f(stop, 0), f(ended, "tool_use"), last),
		},
		"blocks that are counted from 1": {
			came: list(f(begin, "[]"), f(text, 1), f(said, 1), f(said, 1), f(said, 1), f(stop, 1), f(call, 2, "{}"), f(piece, 2, `{"a":1}`), f(stop, 2), f(ended, "tool_use"), last),
			want: list(f(begin, "[]"), f(text, 0), f(said, 0), f(said, 0), f(said, 0), f(stop, 0), f(call, 1, "{}"), f(piece, 1, `{"a":1}`), f(stop, 1), f(ended, "tool_use"), last),
		},
		"a call in the text, from 1": { // the number of the last block is another one in the end
			came: join(list(f(begin, "[]")), list(f(text, 1), strings.Replace(f(said, 1), "ok", `<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>`, 1), f(stop, 1)),
				list(f(text, 2), f(said, 2), f(stop, 2)), list(`{"type":"content_block_start", "index":3,"content_block":{"type":"new","new":null}}`, f(stop, 3), f(ended, "end_turn"), last)),
			want: join(list(f(begin, "[]"), `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"call_ID","name":"f","input":{}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\": 1}"}}`, `{"type":"content_block_stop","index":0,"new":null}`),
				list(`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"ok","new":null}}`,
					`{"type":"content_block_stop","index":1,"new":null}`, `{"type":"content_block_start", "index":2,"content_block":{"type":"new","new":null}}`, f(stop, 2), `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2}}`, `{"type":"message_stop","new":null}`)),
		},
		"a call whose input comes twice": { // in its beginning, and in pieces
			came: list(f(begin, "[]"), f(call, 0, `{"a":2}`), f(piece, 0, `{"a":1}`), f(stop, 0), f(text, 1), f(said, 1), f(stop, 1), f(ended, "tool_use"), last),
			want: list(f(begin, "[]"), `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`, `{"type":"content_block_stop","index":0,"new":null}`, f(text, 1), f(said, 1), f(stop, 1), f(ended, "tool_use"), last),
		},
		"a whole input that is repaired": {
			came: list(f(begin, "[]"), f(call, 0, `{"a":"1"}`), f(stop, 0), f(text, 1), f(said, 1), f(stop, 1), f(ended, "tool_use"), last),
			want: list(f(begin, "[]"), `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`, `{"type":"content_block_stop","index":0,"new":null}`, f(text, 1), f(said, 1), f(stop, 1), f(ended, "tool_use"), last),
		},
		"content in the beginning": {
			came: list(f(begin, `[{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1},"new":null}]`), f(text, 1), f(said, 1), f(stop, 1), f(ended, "tool_use"), last),
			want: list(f(begin, `[{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1},"new":null}]`), f(text, 1), f(said, 1), f(stop, 1), f(ended, "tool_use"), last),
		},
		"content in the beginning that is repeated": {
			came: list(f(begin, `[{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}}]`), f(call, 0, "{}"), f(piece, 0, `{"a":1}`), f(stop, 0), f(text, 1), f(said, 1), f(stop, 1), f(ended, "tool_use"), last),
			want: list(f(begin, `[{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}}]`), f(text, 1), f(said, 1), f(stop, 1), f(ended, "tool_use"), last),
		},
		"content in the beginning that is repaired": {
			came: list(f(begin, `[{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":"1"}}]`), f(text, 1), f(said, 1), f(stop, 1), f(ended, "tool_use"), last),
			want: list(`{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`,
				`{"type":"content_block_stop","index":0}`, f(text, 1), f(said, 1), f(stop, 1), f(ended, "tool_use"), last),
		},
		"blocks that overlap": {
			came:    list(f(begin, "[]"), f(text, 0), f(text, 1), f(said, 0), f(said, 1), f(stop, 0), f(stop, 1), f(call, 2, "{}"), f(piece, 2, `{"a":1}`), f(stop, 2), f(ended, "tool_use"), last),
			content: `[{kind:text text:okok input: begin:} {kind:tool_use text: input:{"a":1} begin:}]`,
		},
		"a block that has no end": {
			came:    list(f(begin, "[]"), f(call, 0, "{}"), f(piece, 0, `{"a":1}`), f(text, 1), f(said, 1), f(ended, "tool_use"), last),
			content: `[{kind:tool_use text: input:{"a":1} begin:} {kind:text text:ok input: begin:}]`,
		},
		"one number for all blocks": {
			came:    list(f(begin, "[]"), f(call, 0, "{}"), f(piece, 0, `{"a":1}`), f(stop, 0), f(text, 0), f(said, 0), f(stop, 0), f(ended, "tool_use"), last),
			content: `[{kind:tool_use text: input:{"a":1} begin:} {kind:text text:ok input: begin:}]`,
		},
		"a piece of no block, and a second end": {
			came: list(f(begin, "[]"), f(text, 0), f(said, 0), f(stop, 0), f(stop, 0), f(piece, 7, "{}"), f(text, 1), f(said, 1), f(stop, 1), f(ended, "end_turn"), last),
			want: list(f(begin, "[]"), f(text, 0), f(said, 0), f(stop, 0), f(text, 1), f(said, 1), f(stop, 1), f(ended, "end_turn"), last),
		},
		"a second beginning": {
			came: list(f(begin, "[]"), f(text, 0), f(said, 0), f(stop, 0), f(begin, "[]"), f(text, 1), f(said, 1), f(stop, 1), f(ended, "end_turn"), last),
			want: list(f(begin, "[]"), f(text, 0), f(said, 0), f(stop, 0), f(text, 1), f(said, 1), f(stop, 1), f(ended, "end_turn"), last),
		},
		"a block behind the end": {
			came:    join(list(f(begin, "[]")), hello, list(f(ended, "end_turn"), f(text, 1), f(said, 1), f(stop, 1), last)),
			content: `[{kind:text text:ok input: begin:}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := passageGate(t, ", parser: hermes", "")(streamOf(tt.came...))
			body := regexp.MustCompile(`msg_[a-z0-9]{26}`).ReplaceAllString(regexp.MustCompile(`call_[A-Z0-9]{24}`).ReplaceAllString(r.body, "call_ID"), "msg_ID")
			if tt.content != "" {
				if got := fmt.Sprintf("%+v", putTogether(t, body).content); got != tt.content {
					t.Errorf("got %s in\n%s", got, body)
				}
				return
			}
			sameData(t, body, streamOf(tt.want...))
		})
	}
}

// TestMessagesPassageNotJSON has a delta like those before it but for a text that is no JSON: it is refused, as any other.
func TestMessagesPassageNotJSON(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`a\x`, `a\u12g4`, `a\u12`, "a\tb", `a","b":"c`, `a\`} {
		datas := []string{`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`}
		for _, text := range []string{"one", `t\u0077o`, "three", bad} {
			datas = append(datas, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+text+`"}}`)
		}
		stream := messageStream(append(datas, `{"type":"content_block_stop","index":0}`)...)
		r := passageGate(t, "", "")(stream)
		if valid := json.Valid([]byte(datas[len(datas)-1])); valid != !strings.Contains(r.body, "event: error") || !valid && strings.Contains(r.body, bad) || !strings.Contains(r.body, `t\u0077o`) {
			t.Errorf("of %q: got %s", bad, r.body)
		}
	}
}
