package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/flow"
)

// stableTools declare a reference, which is taken out on the way.
const stableTools = `[ {"type":"function","function":{"name":"list_tasks","description":"Lists \u00e4ll tasks.","parameters":{"type":"object","properties":{}}}},
 {"type": "function", "function": {"name": "complete_task", "parameters": {"type": "object", "properties": {"id": {"type": "string", "x-reference": {"tool": "list_tasks", "match": "title", "value": "id"}}}, "required": ["id"]}}} ]`

// stableProviders are the kinds of upstreams, with every form of tools in the prompt.
func stableProviders() map[string]string {
	all := map[string]string{
		"openai": "type: openai, history: repair, prompt_cache_hints: key", "parts": "type: openai, history: repair, prompt_cache_hints: marks",
		"azure": "type: azure", "qwen": "type: qwen", "explicit": "type: qwen, prompt_cache_hints: marks",
		"moonshot": "type: moonshot", "anthropic": "type: anthropic",
	}
	for i, form := range flow.PromptForms() {
		hints := []string{"key", "marks", "none"}[i%3]
		all["prompted "+form] = fmt.Sprintf("type: openai, tools: prompted, parser: %s, history: repair, prompt_cache_hints: %s", form, hints)
	}
	return all
}

// TestPrefixStable holds that what goes upstream in a turn begins with what went in the
// turn before, byte for byte but for marks, whatever is repaired, added and taken out on
// the way: an upstream's cache is worth nothing otherwise.
func TestPrefixStable(t *testing.T) {
	t.Parallel()
	for name, keys := range stableProviders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := newHintSite(t, "")
			g := serve(t, strings.Replace(hintConfig(site.url, keys, "routing: prefix, guard: \"off\", loop_guard: answer, max_rounds: 1, date_context: UTC"), "MODEL", "claude-sonnet-4-5", 1))
			marked, noted := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				c := newStable(t)
				var last string
				for turn := range rapid.IntRange(2, 6).Draw(t, "turns") {
					day := time.Now().UTC().Day()
					c.grow(t, turn)
					r := g.chat(c.body())
					sent := site.sent()
					if r.status != http.StatusOK || strings.Contains(r.header.Get("x-callgate-warnings"), "prefix_changed") {
						t.Fatalf("turn %d: got status %d, %v, %s\nfor %s", turn, r.status, r.header, r.body, c.body())
					}
					if day != time.Now().UTC().Day() {
						return // the date is another one
					}
					wire := sent[len(sent)-1]
					if strings.Contains(wire, "No further tool calls") {
						noted++
					}
					if strings.Contains(wire, `"cache_control"`) || strings.Contains(wire, `"prompt_cache_key"`) {
						marked++
					}
					if last != "" {
						checkStable(t, last, wire)
					}
					last = wire
				}
			})
			if hints := regexp.MustCompile(`none|type: (qwen|moonshot)$`).MatchString(keys); hints == (marked > 0) || noted == 0 {
				t.Errorf("got %d requests with hints and %d with a note of ours, want some: %v and yes", marked, noted, !hints)
			}
		})
	}
}

// checkStable compares the requests of two turns.
func checkStable(t *rapid.T, before, after string) {
	t.Helper()
	before, after = unpadded(before, "PAD(5000)"), unpadded(after, "PAD(5000)")
	b, a := members(t, before), members(t, after)
	for _, name := range []string{"tools", "system", "model"} {
		if b[name] != a[name] {
			t.Fatalf("%s:\n got %s\nwant %s", name, a[name], b[name])
		}
	}
	// What stands behind the last block is not a part of the prompt, and the note that ends
	// a loop of tools is ours, for one turn.
	b["messages"] = ourNote.ReplaceAllString(b["messages"], "")
	if want := strings.TrimRight(b["messages"], "]} \n"); !strings.HasPrefix(a["messages"], want) {
		t.Fatalf("messages:\n got %s\nwant it to begin with\n     %s", a["messages"], want)
	}
}

var (
	ourMark  = regexp.MustCompile(`,"cache_control":\{"type":"ephemeral"\}`)
	onePart  = regexp.MustCompile(`\[\{"type":"text","text":("(?:[^"\\]|\\.)*")\}\]`)
	ourNote  = regexp.MustCompile(`,\{("role":"user","content"|"type":"text","text"):"(The last tool calls brought nothing new\. )?No further tool calls are possible[^"]*"\}(\]\})?\s*\]$`)
	unmarked = func(s string) string { return onePart.ReplaceAllString(ourMark.ReplaceAllString(s, ""), "$1") }
)

// members are those of a body, without marks and the parts that were made for them.
func members(t *rapid.T, body string) map[string]string {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &raw); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	out := map[string]string{}
	for name, value := range raw {
		out[name] = unmarked(string(value))
	}
	return out
}

// stable is a conversation of a client, as JSON of its own form.
type stable struct {
	tools, gap string
	messages   []string
	calls      int
}

func newStable(t *rapid.T) *stable {
	c := &stable{tools: stableTools, gap: rapid.SampledFrom([]string{",", " , ", ",\n    "}).Draw(t, "gap")}
	for range rapid.IntRange(0, 2).Draw(t, "system") {
		role := rapid.SampledFrom([]string{"system", "developer"}).Draw(t, "role")
		c.messages = append(c.messages, fmt.Sprintf(`{"role":%q,"content":%s}`, role, stableContent(t, false)))
	}
	return c
}

func (c *stable) body() string {
	return `{"model":"m", "messages" : [ ` + strings.Join(c.messages, c.gap) + ` ], "tools":` + c.tools + `}`
}

var stableTexts = rapid.SampledFrom([]string{
	`"Hello."`, `"Caf\u00e9 \ud83d\ude00 \/ \"quoted\" \\ done"`, `"  spaces\n\n"`, `"<tool_call>{}</tool_call>"`, `"\"cache_control\": {}"`,
	`"PAD(5000)"`, `"[{\"id\":\"t1\",\"title\":\"Buy milk\"}]"`,
})

// stableContent is a text, as a string or in parts, with images where a user may send them.
func stableContent(t *rapid.T, images bool) string {
	text := stableTexts.Draw(t, "text")
	forms := []string{text, text, `[{"type":"text","text":` + text + `}]`, `[ { "type" : "text", "text" : ` + text + ` }, {"type":"text","text":"more"} ]`}
	if images {
		forms = append(forms, `[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},{"type":"text","text":`+text+`}]`,
			`[{"type":"text","text":`+text+`},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]`)
	}
	return padded(rapid.SampledFrom(forms).Draw(t, "content"))
}

// grow adds an answer of the model's, if it is not the first turn, and what follows it.
func (c *stable) grow(t *rapid.T, turn int) {
	say := func() { c.messages = append(c.messages, `{"role": "user", "content":`+stableContent(t, true)+`}`) }
	if turn == 0 {
		say()
		return
	}
	switch rapid.SampledFrom([]string{"text", "calls", "calls", "broken"}).Draw(t, "answer") {
	case "text":
		c.messages = append(c.messages, `{"role":"assistant","content":`+stableContent(t, false)+`,"refusal":null,"x_kept": 1.0}`)
		say()
	case "calls":
		c.messages = append(c.messages, c.call(t)...)
		if rapid.Bool().Draw(t, "and says") {
			say()
		}
	case "broken": // what is repaired follows from the messages up to the next that is no result
		list := c.call(t)
		switch rapid.SampledFrom([]string{"no result", "no call", "order"}).Draw(t, "how") {
		case "no result":
			list = list[:len(list)-1]
		case "no call":
			list = slices.Insert(list, rapid.IntRange(1, len(list)).Draw(t, "at"), `{"role":"tool","tool_call_id":"nobody's","content":"lost"}`)
		case "order":
			slices.Reverse(list[1:])
		}
		c.messages = append(c.messages, list...)
		say()
		if rapid.Bool().Draw(t, "twice") {
			say()
		}
	}
}

// call is a message with calls, and their results. Their ids are of several forms, and
// some are those of earlier calls.
func (c *stable) call(t *rapid.T) []string {
	var calls, results []string
	for range rapid.IntRange(1, 3).Draw(t, "calls") {
		c.calls++
		form := rapid.SampledFrom([]string{"call_%d", "functions.list_tasks:%d", "call-with-a-very-long-id-that-no-upstream-would-take-as-it-is-%d", "same#%.0d"}).Draw(t, "id")
		id := fmt.Sprintf(form, c.calls)
		args := rapid.SampledFrom([]string{`"{}"`, `"{ \"id\" : \"t1\" }"`, `"{\"id\":\"t1\""`, `""`, `"{\"id\":\"Buy milk\",}"`}).Draw(t, "arguments")
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"complete_task","arguments":%s}}`, id, args))
		results = append(results, fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%s}`, id, stableContent(t, false)))
	}
	content := rapid.SampledFrom([]string{"null", `""`, `"I look."`}).Draw(t, "content")
	return append([]string{`{"role":"assistant","content":` + content + `,"tool_calls":[` + strings.Join(calls, ", ") + `]}`}, results...)
}
