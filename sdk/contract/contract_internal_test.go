package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

// TestCheck shows that each rule of the contract is held to.
func TestCheck(t *testing.T) {
	t.Parallel()
	start := sdk.Event{Kind: abi.CallStart, Name: "a"}
	args := sdk.Event{Kind: abi.Args, Text: "{}"}
	callEnd := sdk.Event{Kind: abi.CallEnd}
	end := sdk.Event{Kind: abi.End, To: 10}
	for _, tt := range []struct {
		name   string
		events []sdk.Event
		want   string // part of the error, "" for none
	}{
		{"a call", []sdk.Event{start, args, {Kind: abi.Repair, Name: "args_json"}, callEnd, end}, ""},
		{"a void call", []sdk.Event{start, args, {Kind: abi.Malformed, To: 10}}, ""},
		{"a cut call", []sdk.Event{start, {Kind: abi.Cut}, end}, ""},
		{"no end", []sdk.Event{start, args, callEnd}, "not ended"},
		{"two ends", []sdk.Event{end, end}, "after the end"},
		{"end beyond the text", []sdk.Event{{Kind: abi.End, To: 11}}, "byte 11 of 10"},
		{"end in a call", []sdk.Event{start, end}, "still open"},
		{"malformed beyond the text", []sdk.Event{{Kind: abi.Malformed, To: 11}}, "bytes 0 to 11"},
		{"malformed backwards", []sdk.Event{{Kind: abi.Malformed, From: 5, To: 4}}, "bytes 5 to 4"},
		{"malformed without bytes", []sdk.Event{{Kind: abi.Malformed}}, "forever"},
		{"two calls open", []sdk.Event{start, {Kind: abi.CallStart, Index: 1, Name: "b"}, end}, "no other open"},
		{"no name", []sdk.Event{{Kind: abi.CallStart}}, "with a name"},
		{"an index left out", []sdk.Event{{Kind: abi.CallStart, Index: 1, Name: "a"}}, "want call 0"},
		{"arguments of another call", []sdk.Event{start, {Kind: abi.Args, Index: 1, Text: "{}"}}, "not the open one"},
		{"arguments without a call", []sdk.Event{args}, "not the open one"},
		{"end of no call", []sdk.Event{callEnd}, "not the open one"},
		{"arguments no object", []sdk.Event{start, {Kind: abi.Args, Text: "[]"}, callEnd}, "not a JSON object"},
		{"arguments no JSON", []sdk.Event{start, {Kind: abi.Args, Text: "{a}"}, callEnd}, "not a JSON object"},
		{"no arguments", []sdk.Event{start, callEnd}, "not a JSON object"},
		{"repair of nothing", []sdk.Event{{Kind: abi.Repair}}, "what was repaired"},
	} {
		err := Check(tt.events, 10)
		if tt.want == "" && err != nil {
			t.Errorf("%s: %v, want no error", tt.name, err)
		}
		if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

// TestCheckText shows that each rule of what events may make of a text is held to.
func TestCheckText(t *testing.T) {
	t.Parallel()
	call := func(name, args string, more ...sdk.Event) []sdk.Event {
		return append(append([]sdk.Event{{Kind: abi.CallStart, Name: name}, {Kind: abi.Args, Text: args}}, more...), sdk.Event{Kind: abi.CallEnd}, sdk.Event{Kind: abi.End, To: 5})
	}
	content := func(text string, end sdk.Event) []sdk.Event {
		return []sdk.Event{{Kind: abi.Content, Text: text}, end}
	}
	tools := []sdk.Tool{{Name: "offered"}}
	for _, tt := range []struct {
		name, text string
		events     []sdk.Event
		reason     sdk.Reason
		want       string // part of the error, "" for none
	}{
		{"a call", "named", call("named", `{"a": {"b": 1}, "c": [{"b": 1}, {"b": 2}], "b": "a"}`), 0, ""},
		{"an offered tool that is not named", "a call", call("offered", "{}"), 0, ""},
		{"a tool that is neither", "a call", call("other", "{}"), 0, `the tool "other" is not in the text, nor offered`},
		{"an escaped name", `a \u0063all`, call("other", "{}"), 0, ""},
		{"a key twice", "named a b", call("named", `{"a": 1, "b": {}, "a": 2}`), 0, `the key "a" twice`},
		{"a key twice within a value, which the gateway judges", "named a b", call("named", `{"b": [{"a": 1, "a": 2}]}`), 0, ""},
		{"a key twice behind a value", "named a b", call("named", `{"b": [{"a": 1}], "a": {}, "b": 2}`), 0, `the key "b" twice`},
		{"a key twice in another spelling", "named a b", call("named", `{"a": 1, "\u0061": 2}`), 0, `the key "a" twice`},
		{"as the model wrote it", `named {"a": 1, "a": 2}`, call("named", `{"a": 1, "a": 2}`), 0, ""},
		{"as the model wrote it in a string", `named "{\"a\": 1, \"a\": 2}"`, call("named", `{"a": 1, "a": 2}`), 0, ""},
		{"mended", `named {'a': 1, 'a': 2}`, call("named", `{"a": 1, "a": 2}`, sdk.Event{Kind: abi.Repair, Name: "args_json"}), 0, ""},
		{"cut by a limit", "named", []sdk.Event{{Kind: abi.CallStart, Name: "named"}, {Kind: abi.Cut}, {Kind: abi.End, To: 5}}, sdk.Length, ""},
		{"cut by nothing", "named", []sdk.Event{{Kind: abi.CallStart, Name: "named"}, {Kind: abi.Cut}, {Kind: abi.End, To: 5}}, sdk.Stop, "give it back as malformed"},
		{"content", "<a>b</a>c", content("b\n", sdk.Event{Kind: abi.End, To: 8}), 0, ""},
		{"content from behind the end", "<a>b</a>c", content("bc", sdk.Event{Kind: abi.End, To: 8}), 0, "not in the 8 bytes before it"},
		{"content that is given back too", "<a>b</a>c", content("b", sdk.Event{Kind: abi.Malformed, From: 3, To: 8}), 0, "comes twice"},
		{"content that is escaped", `{"content": "\u00e9"}`, content("é", sdk.Event{Kind: abi.End, To: 21}), 0, ""},
		{"content of its own", "<a>b</a>c", content("x", sdk.Event{Kind: abi.End, To: 8}), 0, `"x"`},
	} {
		err := CheckText(tt.events, tt.text, tt.reason, tools)
		if tt.want == "" && err != nil {
			t.Errorf("%s: %v, want no error", tt.name, err)
		}
		if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

func TestCutsJoin(t *testing.T) {
	t.Parallel()
	for _, input := range []string{"", "a", strings.Repeat("0123456789", 10), strings.Repeat("x", 5000)} {
		ways := Cuts(input)
		if len(ways) > 3*maxCuts {
			t.Errorf("%d ways of cutting %d bytes", len(ways), len(input))
		}
		for _, pieces := range ways {
			if got := strings.Join(pieces, ""); got != input {
				t.Errorf("pieces join to %q, want %q", got, input)
			}
		}
	}
}

func TestReadCase(t *testing.T) {
	t.Parallel()
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "x.case")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	c, err := readCase(write("Why.\n-- options --\n{\"reason\": \"length\", \"max_depth\": 3, \"fenced\": true, \"settings\": {\"d\": \"4\", \"a\": \"1\", \"c\": \"3\", \"b\": \"2\"}}\n-- input --\n\"a\\n\"\n\"b\"\n-- events --\nend 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Why != "Why." || c.Input != "a\nb" || c.Reason != sdk.Length || c.Options.MaxDepth != 3 || !c.Options.Fenced || c.Events != "end 3\n" {
		t.Errorf("case = %+v", c)
	}
	if got, want := fmt.Sprint(c.Options.Settings), "[{a 1} {b 2} {c 3} {d 4}]"; got != want {
		t.Errorf("got the settings %s, want them sorted: %s", got, want)
	}
	for _, text := range []string{
		"Why.\n",
		"Why.\n-- input --\na\n-- events --\n",
		"Why.\n-- options --\n{\"x\": 1}\n-- input --\n\"a\"\n-- events --\n",
		"Why.\n-- options --\n{\"reason\": \"x\"}\n-- input --\n\"a\"\n-- events --\n",
	} {
		if _, err := readCase(write(text)); err == nil {
			t.Errorf("case %q was read", text)
		}
	}
}

func TestReadTools(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tools.json")
	if tools, err := readTools(file); err != nil || tools != nil {
		t.Errorf("no file gives %v, %v, want no tools", tools, err)
	}
	if err := os.WriteFile(file, []byte(`{"a": {"x": "string|null", "y": ""}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	tools, err := readTools(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := sdk.FindParam(sdk.FindTool(tools, "a"), "x").Types; got != abi.String|abi.Null {
		t.Errorf("types of x = %b, want string and null", got)
	}
	if err := os.WriteFile(file, []byte(`{"a": {"x": "text"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readTools(file); err == nil {
		t.Error("an unknown type was read")
	}
}
