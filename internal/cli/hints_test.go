package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// hintSite is an upstream of any type. It keeps the bodies that it gets, and refuses those
// that hold a word.
type hintSite struct {
	url     string
	refuses string

	mu     sync.Mutex
	bodies []string
}

const (
	anthropicAnswer = `{"id":"msg_1","type":"message","role":"assistant","model":"up","content":[{"type":"text","text":"I am well."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3000,"output_tokens":1}}`
	unknownField    = `{"error":{"message":"Unrecognized request argument supplied: %s","type":"invalid_request_error","param":null,"code":null}}`
	forbiddenField  = `{"detail":[{"type":"extra_forbidden","loc":["body","%s"],"msg":"Extra inputs are not permitted"}]}` // FastAPI's
)

func newHintSite(t *testing.T, refuses string) *hintSite {
	t.Helper()
	s := &hintSite{refuses: refuses}
	s.url = upstream(t, s.serve)
	return s
}

func (s *hintSite) serve(w http.ResponseWriter, r received) {
	s.mu.Lock()
	s.bodies = append(s.bodies, r.body)
	s.mu.Unlock()
	w.Header().Set("content-type", "application/json")
	switch {
	case s.refuses != "" && strings.Contains(r.body, `"`+s.refuses+`"`):
		w.WriteHeader(http.StatusBadRequest)
		form := unknownField
		if s.refuses == "prompt_cache_key" {
			form = forbiddenField
		}
		fmt.Fprintf(w, form, s.refuses)
	case strings.HasSuffix(r.URL.Path, "/messages"):
		io.WriteString(w, anthropicAnswer)
	default:
		io.WriteString(w, completion("I am well."))
	}
}

// sent are the bodies so far.
func (s *hintSite) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies)
}

// hintConfig is a configuration with one provider and one route, m. keys are flow
// mappings' insides.
func hintConfig(url, providerKeys, routeKeys string) string {
	if !strings.Contains(providerKeys, "type:") {
		providerKeys = "type: openai, " + providerKeys
	}
	return fmt.Sprintf("admin: {listen: \"127.0.0.1:0\"}\nlog: {level: error}\ncache_salt: pepper\n"+
		"providers:\n  p: {base_url: %q, %s}\nmodels:\n  m: {%s, targets: [{provider: p, model: MODEL}]}\n", url, providerKeys, routeKeys)
}

// pad stands for so many bytes of text in the data files: PAD(600).
var pad = regexp.MustCompile(`PAD\((\d+)\)`)

func padded(text string) string {
	return pad.ReplaceAllStringFunc(text, func(mark string) string {
		n, _ := strconv.Atoi(pad.FindStringSubmatch(mark)[1])
		return strings.Repeat("lorem ipsum ", n/12+1)[:n]
	})
}

// unpadded puts the marks back.
func unpadded(text, original string) string {
	for _, mark := range pad.FindAllString(original, -1) {
		text = strings.ReplaceAll(text, padded(mark), mark)
	}
	return text
}

// TestHints plays each file of testdata/hints: "provider" and "route" are keys of theirs,
// "model" is the upstream's, and each request/N.json is followed by what goes upstream for
// it, wire/N, a member of the body or of an array in it a line; header/N are the headers
// of the answer that say what was done.
func TestHints(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/hints/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			part := map[string]string{}
			for _, f := range a.Files {
				part[f.Name] = strings.TrimSpace(string(f.Data))
			}
			site := newHintSite(t, part["refuses"])
			config := hintConfig(site.url, part["provider"], part["route"])
			g := serve(t, strings.Replace(config, "MODEL", part["model"], 1))
			out := &txtar.Archive{Comment: a.Comment}
			for _, f := range a.Files {
				if strings.HasPrefix(f.Name, "wire/") || strings.HasPrefix(f.Name, "header/") {
					continue
				}
				out.Files = append(out.Files, f)
				if n, ok := strings.CutPrefix(f.Name, "request/"); ok {
					n = strings.TrimSuffix(n, ".json")
					before := len(site.sent())
					r := g.chat(padded(strings.Replace(string(f.Data), "{", `{"model":"m",`, 1)))
					if r.status != http.StatusOK {
						t.Errorf("request %s: got status %d, %s", n, r.status, r.body)
					}
					var wire strings.Builder
					for _, body := range site.sent()[before:] {
						wire.WriteString(lines(t, body))
					}
					out.Files = append(out.Files, txtar.File{Name: "wire/" + n, Data: []byte(unpadded(wire.String(), string(f.Data)))},
						txtar.File{Name: "header/" + n, Data: []byte(hintHeaders(r.header))})
				}
			}
			goldenText(t, file, string(txtar.Format(out)))
		})
	}
}

// TestHintRefusedThenFallback holds that a hint which one upstream refuses is left out for that one
// alone, and nothing else is for the next, whose requests are made fit otherwise.
func TestHintRefusedThenFallback(t *testing.T) {
	t.Parallel()
	first, second := newHintSite(t, ""), newHintSite(t, "")
	first.url = upstream(t, func(w http.ResponseWriter, r received) {
		if first.refuses = "prompt_cache_key"; strings.Contains(r.body, first.refuses) {
			first.serve(w, r)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	g := serve(t, fmt.Sprintf("log: {level: error}\nproviders:\n  a: {type: openai, base_url: %q, prompt_cache_hints: key}\n"+
		"  b: {type: openai, base_url: %q, response_format: prompted}\nmodels:\n  m: {cache_hints: set, targets: [{provider: a, model: A}, {provider: b, model: B}]}\n", first.url, second.url))
	r := g.chat(padded(`{"model":"m","messages":[{"role":"user","content":"PAD(9000)"}],"response_format":{"type":"json_object"}}`))
	if sent := second.sent(); r.status != http.StatusOK || len(sent) != 1 || strings.Contains(sent[0], "response_format") || !strings.Contains(sent[0], "Answer with one JSON value") {
		t.Errorf("got status %d, %s; the second upstream got %.300s", r.status, r.body, sent)
	}
}

// goldenText compares a text with a file, or writes it.
func goldenText(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// lines writes a body with a member a line, and an element of an array a line.
func lines(t *testing.T, body string) string {
	t.Helper()
	var out strings.Builder
	d := json.NewDecoder(strings.NewReader(body))
	d.Token() // the brace
	for d.More() {
		var value json.RawMessage
		name, _ := d.Token()
		if err := d.Decode(&value); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		var list []json.RawMessage
		if value[0] != '[' || json.Unmarshal(value, &list) != nil {
			fmt.Fprintf(&out, "%s: %s\n", name, value)
			continue
		}
		fmt.Fprintf(&out, "%s:\n", name)
		for _, element := range list {
			fmt.Fprintf(&out, "  %s\n", element)
		}
	}
	return out.String()
}

func hintHeaders(h http.Header) string {
	var out strings.Builder
	for _, name := range []string{"x-callgate-repairs", "x-callgate-warnings", "x-callgate-attempts"} {
		if value := h.Get(name); value != "" {
			fmt.Fprintf(&out, "%s: %s\n", name, value)
		}
	}
	return out.String()
}

// TestHintMetrics: what was set and what a client has changed is counted.
func TestHintMetrics(t *testing.T) {
	t.Parallel()
	site := newHintSite(t, "")
	g := serve(t, strings.Replace(hintConfig(site.url, "prompt_cache_hints: key", "routing: prefix"), "MODEL", "up", 1))
	for n, body := range []string{
		`{"model":"m","messages":[{"role":"system","content":"PAD(5000) It is 12:00."},{"role":"user","content":"What is the weather?"}]}`,
		`{"model":"m","messages":[{"role":"system","content":"PAD(5000) It is 12:01."},{"role":"user","content":"What is the weather?"},{"role":"assistant","content":"Fine."},{"role":"user","content":"Really?"}]}`,
	} {
		want := []string{"", "prefix_changed:4608@system"}[n]
		if r := g.chat(padded(body)); r.header.Get("x-callgate-warnings") != want || r.header.Get("x-callgate-repairs") != "cache_hint=1" {
			t.Errorf("request %d: got %v, want the warning %q and cache_hint=1", n+1, r.header, want)
		}
	}
	missing := []string{`callgate_tool_repairs_total{kind="cache_hint"} 2`, `callgate_prefix_changed_total{part="system",route="m"} 1`,
		`callgate_warnings_total{kind="prefix_changed"} 1`}
	for end := time.Now().Add(patience); len(missing) > 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		text := g.operator("GET", "/metrics").body
		missing = slices.DeleteFunc(missing, func(line string) bool { return strings.Contains(text, line+"\n") })
	}
	if len(missing) > 0 {
		t.Errorf("got no %q in the metrics", missing)
	}
}
