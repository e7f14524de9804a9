package demo_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/demo"
)

// template is what testdata/no_tools holds of a format: how its chat template defines
// get_weather and get_time, the two calls that the model then writes, and the results
// 12 degrees and 14:05.
type template struct{ format, tools, call, results string }

func templates(t testing.TB) []template {
	t.Helper()
	files, err := filepath.Glob("testdata/no_tools/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all []template
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(archive.Files) != 3 {
			t.Fatalf("%s: got %d parts, want tools.txt, call.txt and results.txt", file, len(archive.Files))
		}
		part := func(i int) string { return strings.TrimSuffix(string(archive.Files[i].Data), "\n") }
		all = append(all, template{strings.TrimSuffix(filepath.Base(file), ".txtar"), part(0), part(1), part(2)})
		if *update {
			last := &all[len(all)-1]
			last.call = tell(t, "no_tools/"+last.format, say("system", last.tools), say("user", weatherAndTime))
			archive.Files[1].Data = []byte(last.call + "\n")
			if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	return all
}

const weatherAndTime = "What is the weather in Oslo and the time in Bergen?"

// said is a message that is text alone.
type said struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func say(role, content string) said { return said{role, content} }

// tell returns the text with which a model answers, which is the same whole and
// streamed.
func tell(t testing.TB, model string, messages ...said) string {
	t.Helper()
	var content [2]string
	for i, stream := range []bool{false, true} {
		text, err := json.Marshal(map[string]any{"model": "m", "stream": stream, "messages": messages})
		if err != nil {
			t.Fatal(err)
		}
		got := read(t, chat(t.Context(), t, fast(), model, string(text)))
		if got.finish != "stop" || len(got.ToolCalls) > 0 || got.done != stream {
			t.Errorf("%s: got %+v, want text that ends with stop", model, got)
		}
		content[i] = got.Content
	}
	if content[0] != content[1] {
		t.Errorf("%s: got %q whole, %q streamed, want the same", model, content[0], content[1])
	}
	return content[0]
}

// TestNoTools leads the models without support for tools through a conversation in
// the form of their own chat template.
func TestNoTools(t *testing.T) {
	t.Parallel()
	all := templates(t)
	var names []string
	for _, f := range all {
		names = append(names, "no_tools/"+f.format)
	}
	want := slices.Sorted(slices.Values(demo.NoTools()))
	if !slices.Equal(names, want) || len(names) < 8 {
		t.Errorf("got data for %v, want it for %v", names, want)
	}
	for _, f := range all {
		t.Run(f.format, func(t *testing.T) {
			t.Parallel()
			model := "no_tools/" + f.format
			system, ask, call, results := say("system", f.tools), say("user", weatherAndTime), say("assistant", f.call), say("user", f.results)
			inFront := "I see no tools."
			if slices.Contains([]string{"llama3_json", "pythonic", "mistral", "mistral_array"}, f.format) {
				inFront = f.call // the template has them there
			}
			for _, tt := range []struct {
				name     string
				messages []said
				want     string
			}{
				{"call", []said{system, ask}, f.call},
				{"definitions in front of the prompt", []said{say("user", f.tools+"\n\n"+weatherAndTime)}, inFront},
				{"results", []said{system, ask, call, results}, "Here is what I found: 12 degrees; 14:05"},
				{"question behind results", []said{system, ask, call, say("user", f.results+"\n\n"+weatherAndTime)}, f.call},
				{"next question", []said{system, ask, call, results, say("assistant", "12 degrees."), ask}, f.call},
				{"refused call", []said{system, ask, say("user", "Your call was not carried out: Tokyo?")}, f.call},
				{"greeting", []said{system, say("user", "Hello")}, "Hello! I am the demo model. How can I help you?"},
				{"no tools", []said{say("user", "Hello")}, "Hello! I am the demo model. How can I help you?"},
				{"no results", []said{system, ask, call, say("user", "12 degrees")}, "I see no result."},
				{"no call", []said{system, ask, say("assistant", "Let me check."), results}, "I see no call."},
				{"nothing called", []said{system, results}, "I see no call."},
			} {
				if got := tell(t, model, tt.messages...); got != tt.want {
					t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
				}
			}
			for name, messages := range map[string][]said{
				"system demands":         {say("system", f.tools+"\n\nYou MUST call the tool get_time."), say("user", "hi Bergen")},
				"user demands":           {system, say("user", "hi Bergen\n\nYou MUST call the tool `get_time`.")},
				"demand of its own":      {system, say("user", "hi Bergen"), say("user", "You MUST call get_time, now.")},
				"system demands at last": {system, say("user", "hi Bergen"), say("system", "You MUST call the tool \"get_time\".")},
			} {
				got := tell(t, model, messages...)
				if !strings.Contains(got, "get_time") || !strings.Contains(got, "Bergen") || strings.Contains(got, "get_weather") {
					t.Errorf("%s: got %q, want a call of get_time for Bergen", name, got)
				}
			}
			got := tell(t, model, system, say("user", "hi Oslo, You MUST call a tool."))
			if !strings.Contains(got, "get_weather") || !strings.Contains(got, "Oslo") || strings.Contains(got, "get_time") {
				t.Errorf("any demanded: got %q, want a call of get_weather for Oslo", got)
			}
		})
	}
}

// TestNoToolsOfOthers checks that a model sees nothing in the forms of other formats,
// but for those whose templates agree.
func TestNoToolsOfOthers(t *testing.T) {
	t.Parallel()
	sameTools := [][]string{{"glm45", "glm47"}, {"mistral", "mistral_array"}}
	sameResults := [][]string{{"hermes", "qwen3_coder", "glm45"}, {"llama3_json", "pythonic"}, {"mistral", "mistral_array"}}
	same := func(groups [][]string, a, b string) bool {
		return a == b || slices.ContainsFunc(groups, func(g []string) bool { return slices.Contains(g, a) && slices.Contains(g, b) })
	}
	all := templates(t)
	for _, f := range all {
		for _, other := range all {
			model := "no_tools/" + f.format
			got := tell(t, model, say("system", other.tools), say("user", weatherAndTime))
			if want := "I see no tools."; !same(sameTools, f.format, other.format) && got != want {
				t.Errorf("%s, tools of %s: got %q, want %q", f.format, other.format, got, want)
			}
			got = tell(t, model, say("system", f.tools), say("user", weatherAndTime), say("assistant", f.call), say("user", other.results))
			want := "I see no result."
			if f.format == "glm47" && same(sameResults, "glm45", other.format) {
				want = "Here is what I found: \n12 degrees\n; \n14:05\n" // its own results have no lines of their own
			}
			if !same(sameResults, f.format, other.format) && got != want {
				t.Errorf("%s, results of %s: got %q, want %q", f.format, other.format, got, want)
			}
		}
	}
}

// TestNoToolsRefuses checks that such an upstream takes nothing that has to do with
// tools but text.
func TestNoToolsRefuses(t *testing.T) {
	t.Parallel()
	const said = `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`
	for name, request := range map[string]string{
		"tools":       body(false, "hi", weather, ""),
		"empty tools": body(true, "hi", "", ""),
		"tool_choice": `{"model":"m","tool_choice":"none","messages":[{"role":"user","content":"hi"}]}`,
		"tool_calls":  `{"model":"m","messages":[{"role":"assistant","content":"","tool_calls":[]},{"role":"user","content":"hi"}]}`,
		"role":        `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"tool","tool_call_id":"1","content":"x"}]}`,
	} {
		for _, model := range demo.NoTools() {
			err := outcome(t.Context(), t, fast(), model, request)
			e := gateway.AsError(err)
			var refusal struct {
				Error struct {
					Message string
					Code    int
				}
			}
			if jsonErr := json.Unmarshal(e.Body, &refusal); err == nil || jsonErr != nil || e.Kind != gateway.Rejected || e.Status != 400 ||
				refusal.Error.Message != said || refusal.Error.Code != 400 || !strings.HasSuffix(e.Message, "status 400: "+said) {
				t.Errorf("%s, %s: got %v with %s, want it refused as vLLM does", model, name, err, e.Body)
			}
		}
	}
	null := `{"model":"m","tools":null,"tool_choice":null,"messages":[{"role":"assistant","content":"","tool_calls":null},{"role":"user","content":"hi"}]}`
	if err := outcome(t.Context(), t, fast(), "no_tools/hermes", null); err != nil {
		t.Errorf("null: got %v, want an answer", err)
	}
}
