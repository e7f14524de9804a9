package clients_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// corpusAnswer is a line of the corpus of broken answers: what the model writes, and the value that is
// meant, or that it cannot be read.
type corpusAnswer struct {
	Text  string
	Meant json.RawMessage
	Says  *string
	Types map[string]string
}

func readCorpus(t *testing.T) (all []corpusAnswer) {
	t.Helper()
	files, err := filepath.Glob("../../../gateway/repair/testdata/answers/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			var a corpusAnswer
			if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, a)
		}
	}
	return all
}

// corpusServer answers model aN with the Nth answer.
func corpusServer(t *testing.T, all []corpusAnswer) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Model  string
			Stream bool
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &asked)
		n, err := strconv.Atoi(strings.TrimPrefix(asked.Model, "a"))
		if err != nil || n >= len(all) {
			http.Error(w, `{"error":{"message":"no such model"}}`, http.StatusNotFound)
			return
		}
		text, _ := json.Marshal(all[n].Text)
		const used = `"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}`
		if asked.Stream {
			w.Header().Set("content-type", "text/event-stream")
			const head = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":`
			fmt.Fprintf(w, head+`{"role":"assistant","content":%s},"finish_reason":null}]}`+"\n\n"+head+`{},"finish_reason":"stop"}],`+used+"}\n\ndata: [DONE]\n\n", text)
			return
		}
		w.Header().Set("content-type", "application/json")
		fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],`+used+"}", text)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// TestStructuredCorpus has parse helpers read the whole corpus of broken answers through the gateway:
// what can be repaired they parse as it was meant, and of the rest they get an error and nothing else.
func TestStructuredCorpus(t *testing.T) {
	t.Parallel()
	all := readCorpus(t)
	c := newConfig()
	c.Providers["corpus"] = map[string]any{"type": "openai", "base_url": corpusServer(t, all), "api_key": "none", "on_invalid_output": "reject", "retry": map[string]any{"max_retries": 0}}
	c.route("*", target{Provider: "corpus"})
	g := serve(t, c)
	var lines bytes.Buffer
	for n := range all {
		line, _ := json.Marshal(map[string]any{"model": fmt.Sprint("corpus/a", n), "types": all[n].Types})
		lines.Write(append(line, '\n'))
	}
	file := filepath.Join(t.TempDir(), "corpus.jsonl")
	if err := os.WriteFile(file, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	helpers := map[string][]string{"python": {"chat", "chat_stream", "responses", "pydantic_ai"}, "instructor": {"instructor"}, "node": {"ai_generate", "ai_stream"}}
	for _, p := range parsers() {
		for _, helper := range helpers[p.name] {
			t.Run(p.name+"/"+helper, func(t *testing.T) {
				t.Parallel()
				checkCorpus(t, all, p.run(t, []string{g.URL, "corpus", file, helper}))
			})
		}
	}
}

// checkCorpus compares what a helper made of each answer with what was meant.
func checkCorpus(t *testing.T, all []corpusAnswer, output []byte) {
	t.Helper()
	answers, refused := 0, 0
	for d := json.NewDecoder(bytes.NewReader(output)); d.More(); answers++ {
		var got parsed
		if err := d.Decode(&got); err != nil {
			t.Fatalf("%v in %s", err, output)
		}
		n, err := strconv.Atoi(strings.TrimPrefix(got.Model, "corpus/a"))
		if err != nil {
			t.Fatal(err)
		}
		switch want := &all[n]; {
		case want.Says != nil && got.Error == "":
			t.Errorf("%s: got %s of %q, want an error", got.Helper, got.Parsed, want.Text)
		case want.Says != nil:
			refused++
		case got.Error != "" || !sameValue(t, got.Parsed, want.Meant):
			t.Errorf("%s: got %s, %s of %q, want %s", got.Helper, got.Parsed, got.Error, want.Text, want.Meant)
		}
	}
	t.Logf("%d answers: %d parsed as they were meant, %d refused", answers, answers-refused, refused)
	if answers != len(all) {
		t.Errorf("got %d answers, want %d", answers, len(all))
	}
}

// sameValue compares JSON as the language of a client reads it.
func sameValue(t *testing.T, a, b json.RawMessage) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		return false
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}
