package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"
)

// recordedUpstream answers as real servers did: of a protocol of its own as recorded, and by chat with a word.
type recordedUpstream struct {
	mu     sync.Mutex
	answer string
	body   string // of the latest request
}

func (u *recordedUpstream) serve(w http.ResponseWriter, r received) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.body = r.body
	if strings.HasSuffix(r.URL.Path, "/chat/completions") {
		answerWith(w, r, "by chat")
		return
	}
	w.Header().Set("content-type", "application/json")
	if strings.HasPrefix(u.answer, "event:") {
		w.Header().Set("content-type", events)
	}
	io.WriteString(w, u.answer)
}

// exchange answers a request as recorded, and returns what the upstream got.
func (u *recordedUpstream) exchange(g *gate, protocol, answer, body string) (sent string, r result) {
	u.mu.Lock()
	u.answer, u.body = answer, ""
	u.mu.Unlock()
	r = g.do(g.request("POST", "/v1/"+protocol, body))
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.body, r
}

// TestRecorded has real requests and answers, of testdata/recorded. Before an upstream of the same protocol
// both come through whole, also where all that can be refused is; chat says what a server of chat completions gets.
func TestRecorded(t *testing.T) {
	t.Parallel()
	for protocol, c := range map[string]struct {
		upstream string                         // its configuration
		read     func(body string) (any, error) // what is compared of an answer
	}{
		"messages":  {"type: anthropic", wholeMessage},
		"responses": {"type: openai, responses: native", outputItems},
	} {
		files, err := filepath.Glob("testdata/recorded/" + protocol + "/*.txtar")
		if err != nil || len(files) == 0 {
			t.Fatalf("got %d files, %v", len(files), err)
		}
		u := &recordedUpstream{}
		url := upstream(t, u.serve)
		config := fmt.Sprintf("log: {level: error}\nproviders: {up: {%s, base_url: %q, retry: {max_retries: 0}%%s}, chat: {type: openai, base_url: %q, retry: {max_retries: 0}}}\n", c.upstream, url, url)
		g, strict := serve(t, fmt.Sprintf(config, "")), serve(t, fmt.Sprintf(config, ", on_invalid_call: reject, on_invalid_output: reject")+"defaults: {guard: enforce, tool_binding: refuse}\n")
		for _, file := range files {
			t.Run(protocol+"/"+strings.TrimSuffix(path.Base(file), ".txtar"), func(t *testing.T) {
				archive, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				request, answer := string(archive.Files[0].Data), strings.TrimSuffix(string(archive.Files[1].Data), "\n")
				want, err := c.read(answer)
				if err != nil {
					t.Fatalf("%v in %s", err, answer)
				}
				for _, by := range []*gate{g, strict} {
					sent, r := u.exchange(by, protocol, answer+"\n", ofModel(t, request, "up/"))
					if r.status != http.StatusOK {
						t.Fatalf("got status %d: %s", r.status, r.body)
					}
					sameRequest(t, sent, request)
					if by == g {
						nothingSaid(t, r)
					}
					got, err := c.read(r.body)
					if err != nil {
						t.Fatalf("%v in %s", err, r.body)
					}
					if !reflect.DeepEqual(got, want) {
						t.Errorf("got the answer\n%s\nwant\n%s", inLines(got), inLines(want))
					}
					switch {
					case protocol != "messages":
					case strings.HasPrefix(answer, "event:"):
						sameData(t, r.body, answer)
					default:
						equalBytes(t, "answers", r.body, answer)
					}
				}

				var chat string
				sent, r := u.exchange(g, protocol, "", ofModel(t, request, "chat/"))
				if r.status == http.StatusOK {
					chat = lines(t, sent) + "warnings: " + r.header.Get("x-callgate-warnings") + "\n"
				} else {
					chat = fmt.Sprintf("%d %s\n", r.status, errorMessage(r.body))
				}
				golden(t, file, archive.Files[0], archive.Files[1], txtar.File{Name: "chat", Data: []byte(chat)})
			})
		}
	}
}

// ofModel is a request with something in front of the model's name.
func ofModel(t *testing.T, request, prefix string) string {
	t.Helper()
	var m struct{ Model string }
	if err := json.Unmarshal([]byte(request), &m); err != nil {
		t.Fatal(err)
	}
	return strings.Replace(strings.TrimSpace(request), `"`+m.Model+`"`, `"`+prefix+m.Model+`"`, 1)
}

var complains = regexp.MustCompile(`(faults|repairs|warnings|guard)=`)

// nothingSaid demands that nothing is said against an answer, in its headers or in a stream's comment: it is good,
// and the client has got all of it.
func nothingSaid(t *testing.T, r result) {
	t.Helper()
	for _, name := range []string{"faults", "repairs", "warnings", "guard"} {
		if said := r.header.Get("x-callgate-" + name); said != "" {
			t.Errorf("got x-callgate-%s: %s", name, said)
		}
	}
	for line := range strings.Lines(r.body) {
		if said, ok := strings.CutPrefix(line, ": callgate "); ok && complains.MatchString(said) {
			t.Errorf("got the comment %s", said)
		}
	}
}

// sameRequest compares what went upstream with the client's request. Where an upstream's responses are kept,
// and with what reasoning, is the gateway's business.
func sameRequest(t *testing.T, sent, recorded string) {
	t.Helper()
	var got, want map[string]any
	if json.Unmarshal([]byte(sent), &got) != nil || json.Unmarshal([]byte(recorded), &want) != nil {
		t.Fatalf("got the request %s", sent)
	}
	for _, own := range []string{"store", "include"} {
		delete(got, own)
		delete(want, own)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got the request %s\nwant %s", inLines(got), inLines(want))
	}
}

func inLines(v any) string {
	b, _ := json.MarshalIndent(v, "", "  ")
	return string(b)
}

// errorMessage is what an error's body says.
func errorMessage(body string) string {
	var e struct{ Error struct{ Message string } }
	_ = json.Unmarshal([]byte(body), &e)
	return e.Error.Message
}

// eventsOf is the data of a stream's events.
func eventsOf(stream string) (list []map[string]any, err error) {
	for line := range strings.SplitSeq(stream, "\n") {
		data, ok := strings.CutPrefix(line, "data:")
		if data = strings.TrimSpace(data); !ok || data == "[DONE]" {
			continue
		}
		var e map[string]any
		d := json.NewDecoder(strings.NewReader(data))
		d.UseNumber()
		if err := d.Decode(&e); err != nil {
			return nil, fmt.Errorf("%w in %s", err, data)
		}
		list = append(list, e)
	}
	return list, nil
}

// wholeMessage is a message of the Messages API, put together of its events if it is a stream. What is null is as
// if it were not there, and so are counts of 0.
func wholeMessage(body string) (any, error) {
	if !strings.HasPrefix(body, "event:") {
		var m map[string]any
		d := json.NewDecoder(strings.NewReader(body))
		d.UseNumber()
		err := d.Decode(&m)
		return saying(m), err
	}
	list, err := eventsOf(body)
	if err != nil {
		return nil, err
	}
	var message map[string]any
	var content []any
	var input string
	for _, e := range list {
		delta, _ := e["delta"].(map[string]any)
		switch e["type"] {
		case "message_start":
			message = e["message"].(map[string]any)
			content, _ = message["content"].([]any) // that has no events of its own
			message["begun with"] = maps.Clone(message["usage"].(map[string]any))
		case "content_block_start":
			content, input = append(content, e["content_block"]), ""
		case "content_block_delta":
			block := content[len(content)-1].(map[string]any)
			for name, v := range delta {
				switch name {
				case "type":
				case "partial_json":
					input += v.(string)
				case "citation":
					cited, _ := block["citations"].([]any)
					block["citations"] = append(cited, v)
				default:
					before, _ := block[name].(string)
					said, _ := v.(string)
					block[name] = before + said
				}
			}
		case "content_block_stop":
			if block := content[len(content)-1].(map[string]any); input != "" {
				var v any
				if err := json.Unmarshal([]byte(input), &v); err != nil {
					return nil, err
				}
				block["input"] = v
			}
		case "message_delta":
			maps.Copy(message, delta)
			usage, _ := e["usage"].(map[string]any)
			maps.Copy(message["usage"].(map[string]any), usage)
			if v := e["context_management"]; v != nil {
				message["context_management"] = v
			}
		}
	}
	message["content"] = content
	return saying(message), nil
}

// saying is a value with the members that say something.
func saying(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if empty, ok := member.([]any); member == nil || member == json.Number("0") || ok && len(empty) == 0 {
				delete(v, name)
				continue
			}
			v[name] = saying(member)
		}
	case []any:
		for i := range v {
			v[i] = saying(v[i])
		}
	}
	return v
}

// outputItems are the types of a response's events, if it is a stream, the items of its output, and what else the
// upstream says in the end. Reasoning that nobody asked for is not sealed.
func outputItems(body string) (any, error) {
	var types []any
	response := []byte(body)
	var last any
	if strings.HasPrefix(body, "event:") {
		list, err := eventsOf(body)
		if err != nil {
			return nil, err
		}
		var output []any
		for _, e := range list {
			types = append(types, e["type"])
			if e["type"] == "response.output_item.done" {
				output = append(output, e["item"])
			}
			last = e["response"]
		}
		if response, err = json.Marshal(map[string]any{"output": output}); err != nil {
			return nil, err
		}
	}
	var r struct{ Output []map[string]any }
	d := json.NewDecoder(bytes.NewReader(response))
	d.UseNumber()
	if err := d.Decode(&r); err != nil {
		return nil, err
	}
	for _, item := range r.Output {
		if item["type"] == "reasoning" {
			delete(item, "encrypted_content")
		}
	}
	if last == nil {
		if err := json.Unmarshal(response, &last); err != nil {
			return nil, err
		}
	}
	said := map[string]any{}
	for _, name := range []string{"billing", "max_output_tokens", "metadata", "model", "parallel_tool_calls", "reasoning", "service_tier", "temperature", "text", "tools", "top_p", "truncation", "usage", "user"} {
		said[name] = last.(map[string]any)[name]
	}
	return []any{types, r.Output, said}, nil
}
