package prompted_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/internal/prompted"
)

// drawer draws messages that are good, bad and ugly. Each text in them is there once:
// a word, a number and a dot.
type drawer struct {
	*rapid.T
	n             int
	broken, parts int // what is to be told of them
}

func (d *drawer) text(word string) string {
	d.n++
	return fmt.Sprintf("%s %d.", word, d.n)
}

// content returns the content of a message and how many parts in it are no text.
func (d *drawer) content(word string) (content string, parts int) {
	switch text := d.text(word); rapid.IntRange(0, 2).Draw(d.T, "content") {
	case 0:
		return `"` + text + `"`, 0
	case 1:
		return `[{"type":"text","text":"` + text + `"}]`, 0
	default:
		return ` [ {"type":"image_url"}, {"type":"text","text":"` + text + `"} ] `, 1
	}
}

func (d *drawer) arguments() string {
	text := d.text("argument")
	switch rapid.IntRange(0, 3).Draw(d.T, "arguments") {
	case 0:
		return `{"a":"` + text + `"}`
	case 1:
		d.broken++
		return `"` + text + `"`
	case 2:
		d.broken++
		return `"{\"a\": \"` + text + `"`
	default:
		return `"{\"a\": \"` + text + `\"}"`
	}
}

func (d *drawer) id() string {
	return rapid.SampledFrom([]string{`"a"`, `"b"`, `""`, `null`, `"\u0061"`, `"functions.f:0"`}).Draw(d.T, "id")
}

func (d *drawer) message() string {
	switch kind := rapid.IntRange(0, 10).Draw(d.T, "kind"); {
	case kind < 3:
		var calls []string
		for range rapid.IntRange(1, 3).Draw(d.T, "calls") {
			name := rapid.SampledFrom([]string{"f", "g", "a b", `é\"`}).Draw(d.T, "name")
			calls = append(calls, `{"id":`+d.id()+`,"type":"function","function":{"name":"`+name+`","arguments":`+d.arguments()+`}}`)
		}
		content, parts := d.content("text")
		d.parts += parts
		return fmt.Sprintf(`{"role":"assistant","x":[%d],"content":%s,"tool_calls":[%s]}`, d.n, content, strings.Join(calls, " , "))
	case kind < 8:
		content, parts := d.content("result")
		d.parts += parts
		if kind == 7 {
			return `{"role":"function","name":"f","content":` + content + `}`
		}
		return `{"role":"tool","tool_call_id":` + d.id() + `,"content":` + content + `}`
	case kind == 8:
		return `{"role":"assistant","function_call":{"name":"f","arguments":` + d.arguments() + `}}`
	default:
		content, _ := d.content("text")
		return `{"role":"` + rapid.SampledFrom([]string{"user", "assistant", "system", "odd"}).Draw(d.T, "role") + `","content":` + content + `}`
	}
}

func drawMessages(t *rapid.T) (messages []string, d *drawer) {
	d = &drawer{T: t}
	for range rapid.IntRange(0, 12).Draw(t, "messages") {
		messages = append(messages, d.message())
	}
	return messages, d
}

func array(messages []string) []byte { return []byte("[" + strings.Join(messages, ", ") + "]") }

func has(message string, roles ...string) bool {
	for _, r := range roles {
		if strings.HasPrefix(message, `{"role":"`+r+`"`) {
			return true
		}
	}
	return false
}

func isResult(message string) bool { return has(message, "tool", "function") }

func drawFormat(t *rapid.T) *prompted.Format {
	return find(t, rapid.SampledFrom(prompted.Names()).Draw(t, "format"))
}

var oneText = regexp.MustCompile(`(text|result|argument) [0-9]+\.`)

// TestMessages: an upstream finds nothing that it would not know, and nothing is lost
// without a word.
func TestMessages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages, d := drawMessages(t)
		f := drawFormat(t)
		out, warnings := written(t, f, array(messages), offered, prompted.Choice{})
		if again, _ := written(t, f, array(messages), offered, prompted.Choice{}); again != out {
			t.Fatalf("the second time: got %s, want %s", again, out)
		}
		var list []map[string]any
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			if m["tool_calls"] != nil || m["function_call"] != nil || m["role"] == "tool" || m["role"] == "function" {
				t.Fatalf("got %v in %s, want nothing of tools", m, out)
			}
		}
		for i, m := range messages {
			changes := strings.Contains(m, "_call") || isResult(m) || i == 0 && has(m, "system")
			if !changes && !strings.Contains(out, m) {
				t.Fatalf("got %s, want %s in it as it is", out, m)
			}
		}
		for _, text := range oneText.FindAllString(string(array(messages)), -1) {
			if strings.Count(out, text) != 1 {
				t.Fatalf("got %s, want %q in it once", out, text)
			}
		}
		var want []string
		if d.broken > 0 {
			want = append(want, fmt.Sprintf("%s:%d", prompted.KindArgs, d.broken))
		}
		if d.parts > 0 {
			want = append(want, fmt.Sprintf("%s:%d", prompted.KindContent, d.parts))
		}
		if strings.Join(warnings, ",") != strings.Join(want, ",") {
			t.Fatalf("got the warnings %q, want %q", warnings, want)
		}
	})
}

// TestPrefix: what is sent in one turn is how the next one begins, or no cache of the
// conversation so far would be of use. A choice changes nothing before the last message.
func TestPrefix(t *testing.T) {
	t.Parallel()
	choice := prompted.Choice{Required: true, Single: true}
	rapid.Check(t, func(t *rapid.T) {
		messages, _ := drawMessages(t)
		f := drawFormat(t)
		whole, _ := written(t, f, array(messages), offered, prompted.Choice{})
		before := "["
		for n := 1; n <= len(messages); n++ { // a system prompt may be the first
			if n < len(messages) && isResult(messages[n]) {
				continue // the round is not complete
			}
			now, _ := written(t, f, array(messages[:n]), offered, prompted.Choice{})
			now = strings.TrimSuffix(now, "]")
			if !strings.HasPrefix(whole, now) {
				t.Fatalf("the first %d messages: got %s, which %s does not begin with", n, now, whole)
			}
			chosen, _ := written(t, f, array(messages[:n]), offered, choice)
			if !has(messages[n-1], "assistant", "odd") && !strings.HasPrefix(chosen, before) {
				t.Fatalf("with a choice: got %s, which does not begin with %s", chosen, before)
			}
			if strings.Count(chosen, "You MUST call at least one of the tools. Call no more than one tool at a time.") != 1 {
				t.Fatalf("got %s, want the choice in it once", chosen)
			}
			before = now
		}
	})
}
