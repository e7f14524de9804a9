package loop_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/gateway/internal/loop"
)

// exchange is a call of a tool and the content of its result, which is JSON.
type exchange struct{ tool, arguments, content string }

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// messages writes one round for each exchange.
func messages(exchanges ...exchange) []byte {
	var b strings.Builder
	b.WriteString(`[{"role":"user","content":"Go."}`)
	for _, e := range exchanges {
		b.WriteString(`,{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":` + quote(e.tool) + `,"arguments":` + quote(e.arguments) +
			`}}]},{"role":"tool","tool_call_id":"a","content":` + e.content + `}`)
	}
	return []byte(b.String() + "]")
}

func report(exchanges ...exchange) loop.Report {
	return loop.Check(ledger.New(conversation.Read(messages(exchanges...)), nil), nil, loop.Limits{})
}

// TestResults tells acknowledgements from failures, by the lines of a file.
func TestResults(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/results.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for line := range strings.Lines(string(file)) {
		want, result, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if want != "new" && want != "same" {
			continue
		}
		cases++
		t.Run(result, func(t *testing.T) {
			t.Parallel()
			var rounds []exchange
			for _, argument := range []string{"rejected first", "the second error"} {
				rounds = append(rounds, exchange{"tool", `{"x":` + quote(argument) + `}`, quote(strings.ReplaceAll(result, "{}", argument))})
			}
			if result == "{}" {
				rounds[0].content, rounds[1].content = `"{}"`, `"{}"`
			}
			got := "new"
			if report(rounds...).NewResults < 2 {
				got = "same"
			}
			if got != want {
				t.Errorf("%q: got %s, want %s", result, got, want)
			}
			again := report(rounds[0], rounds[0])
			if again.NewResults > 1 {
				t.Errorf("%q to the same call: got %d new results, want 1 at most", result, again.NewResults)
			}
		})
	}
	if cases < 100 {
		t.Fatalf("got %d lines, want 100 or more", cases)
	}
}

// TestLength: a result that is too long for an acknowledgement is the same page.
func TestLength(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]int{2: 2, 160: 2, 256: 2, 257: 1, 5000: 1} {
		content := quote(strings.Repeat("x", length))
		if got := report(exchange{"open_page", `{"n":1}`, content}, exchange{"open_page", `{"n":2}`, content}).NewResults; got != want {
			t.Errorf("%d bytes: got %d new results, want %d", length, got, want)
		}
	}
}

// TestReads: to whom an empty answer means that nothing is there, by the tool's name.
func TestReads(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		want bool
	}{
		{"grep", true}, {"search_files", true}, {"getOrder", true}, {"listHTTPRoutes", true}, {"HTTPGet", true}, {"mcp__files__read_text", true},
		{"fs.read", true}, {"lookup", true}, {"get_commit", true}, {"list_orders", true}, {"fetch-page", true},
		{"bash", false}, {"add_row", false}, {"find_and_replace", false}, {"search_replace", false}, {"add_to_list", false}, {"post_status", false},
		{"set_status", false}, {"mark_as_read", false}, {"deleteTask", false}, {"turn_on_light", false}, {"", false}, {"工具", false}, {"ready", false},
	} {
		got := report(exchange{tt.name, `{"n":1}`, `""`}).NewResults == 0
		if got != tt.want {
			t.Errorf("%q: got reads %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestContents: what is no text is compared as it stands.
func TestContents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, first, second string
		want                int
	}{
		{"a text and a part with it", `"busy: error"`, `[{"type":"text","text":"busy: error"}]`, 1},
		{"white space around", `"error: busy"`, `"\n error: busy "`, 1},
		{"white space in a failure", `"error:  busy"`, `"error: busy"`, 1},
		{"escapes", `"error: b\u0075sy"`, `"error: busy"`, 1},
		{"objects that differ", `{"error":"a"}`, `{"error":"b"}`, 2},
		{"objects that fail alike", `{"error":"a"}`, `{"error":"a"}`, 1},
		{"numbers", `1`, `2`, 2},
		{"pictures that differ", `[{"type":"image_url","image_url":{"url":"data:,1"}}]`, `[{"type":"image_url","image_url":{"url":"data:,2"}}]`, 2},
		{"no content", `null`, `null`, 2},
		{"no parts", `[]`, `[]`, 2},
		{"parts without text", `[{"type":"text","text":" "}]`, `[{"type":"text","text":""}]`, 2},
		{"a part of another kind", `[5]`, `[6]`, 2},
	} {
		if got := report(exchange{"tool", `{"n":"first"}`, tt.first}, exchange{"tool", `{"n":"second"}`, tt.second}).NewResults; got != tt.want {
			t.Errorf("%s: got %d new results, want %d", tt.name, got, tt.want)
		}
	}
}

// TestEchoes: what a failure repeats of its call's arguments says nothing.
func TestEchoes(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("x", 1024)
	many := `"p":"pp","q":"qq","r":"rr","s":"ss","t":"tt","u":"uu","v":"vv","w":"ww","x":"xx","y":"yy","z":"zz","A":"AA","B":"BB","C":"CC","D":"DD",`
	for _, tt := range []struct {
		name                    string
		arguments, result       string
		otherArguments, another string
		want                    int
	}{
		{"a text", `{"path":"a"}`, "not found: a", `{"path":"bc"}`, "not found: bc", 1},
		{"a number", `{"id":17}`, "Order 17 does not exist", `{"id":1804}`, "Order 1804 does not exist", 1},
		{"a text with escapes", `{"q":"\u0061\"b"}`, `not found: a"b`, `{"q":"c"}`, "not found: c", 1},
		{"one in another", `{"dir":"src","path":"src/a"}`, "not found: src/a", `{"dir":"lib","path":"lib/b/c"}`, "not found: lib/b/c", 1},
		{"white space around", `{"path":"a\n"}`, "not found: a", `{"path":" bc"}`, "not found: bc", 1},
		{"sixteen", `{` + many + `"path":"abc"}`, "not found: abc", `{` + many + `"path":"abcd"}`, "not found: abcd", 1},
		{"more than sixteen", `{` + many + `"E":"EE","path":"a"}`, "not found: a", `{` + many + `"E":"EE","path":"b"}`, "not found: b", 2},
		{"something else", `{"path":"a"}`, "not found: 1", `{"path":"b"}`, "not found: 2", 2},
		{"an acknowledgement", `{"path":"a"}`, "written: a", `{"path":"b"}`, "written: b", 2},
		{"a long failure", `{"path":"a"}`, "not found: a" + filler, `{"path":"b"}`, "not found: b" + filler, 2},
		{"a failure that is told late", `{"path":"a"}`, filler[:256] + " not found: a", `{"path":"b"}`, filler[:256] + " not found: b", 2},
		{"arguments that are no object", `["a"]`, "not found: a", `["b"]`, "not found: b", 2},
		{"no arguments", ``, "not found: a", ``, "not found: b", 2},
	} {
		got := report(exchange{"open", tt.arguments, quote(tt.result)}, exchange{"open", tt.otherArguments, quote(tt.another)}).NewResults
		if got != tt.want {
			t.Errorf("%s: got %d new results, want %d", tt.name, got, tt.want)
		}
	}
}

// TestArguments: which arguments are the same, by what an acknowledgement is to them.
func TestArguments(t *testing.T) {
	t.Parallel()
	large := quote(strings.Repeat("x", 64<<10))
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	for _, tt := range []struct {
		name, first, second string
		want                bool
	}{
		{"order of keys", `{"a":1,"b":{"c":2,"d":3}}`, `{"b":{"d":3,"c":2},"a":1}`, true},
		{"white space", `{"a":[1,2]}`, " { \"a\" : [ 1 , 2 ] }\n", true},
		{"escapes", `{"a":"\u00e9"}`, `{"\u0061":"é"}`, true},
		{"fractions", `{"a":1.50}`, `{"a":15e-1}`, true},
		{"none", ``, ` {} `, true},
		{"null", `null`, `{}`, true},
		{"order of elements", `[1,2]`, `[2,1]`, false},
		{"large numbers", `{"a":12345678901234567890}`, `{"a":12345678901234567891}`, false},
		{"a number and a text", `{"a":1}`, `{"a":"1"}`, false},
		{"a member more", `{"a":1}`, `{"a":1,"b":null}`, false},
		{"a key twice", `{"a":1,"a":2}`, `{"a":1,"a":2}`, true},
		{"a key twice, in another order", `{"a":1,"a":2}`, `{"a":2,"a":1}`, false},
		{"no JSON", `{"a":1`, ` {"a":1 `, true},
		{"large ones", `{"a":` + large + `}`, `{"a":` + large + `}`, true},
		{"large ones in another order", `{"a":` + large + `,"b":1}`, `{"b":1,"a":` + large + `}`, false},
		{"deep ones", `{"a":` + nested(40) + `}`, `{"a":` + nested(40) + `}`, true},
		{"as deep as may be, in another order", `{"b":1,"a":` + nested(31) + `}`, `{"a":` + nested(31) + `,"b":1}`, true},
		{"deeper ones in another order", `{"b":1,"a":` + nested(32) + `}`, `{"a":` + nested(32) + `,"b":1}`, false},
	} {
		if got := report(exchange{"set", tt.first, `"ok"`}, exchange{"set", tt.second, `"ok"`}).NewResults == 1; got != tt.want {
			t.Errorf("%s: got the same %t, want %t", tt.name, got, tt.want)
		}
	}
}
