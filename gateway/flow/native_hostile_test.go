package flow_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway"
)

// blocksOf is a stream with one call whose arguments are a JSON string without its
// quotes, cut in pieces of size bytes where that is between two characters of ASCII.
func blocksOf(name, args string, size int) *scripted {
	s := &scripted{blocks: []string{entry(`"index":0,"id":"a","type":"function","function":{"name":` + quoted(name) + `,"arguments":""}`)}}
	for len(args) > 0 {
		n := min(size, len(args))
		for n < len(args) && (args[n-1] == '\\' || args[n] >= 0x80 || args[n] == '\\') {
			n++
		}
		s.blocks = append(s.blocks, entry(`"index":0,"function":{"arguments":"`+args[:n]+`"}`))
		args = args[n:]
	}
	s.blocks = append(s.blocks, block(0, `"delta":{},"finish_reason":"tool_calls"`), done)
	return s
}

// TestNativeHostile holds what becomes of arguments that are large, deep or no text:
// they go on byte for byte and are reported, or are refused with words that say why.
func TestNativeHostile(t *testing.T) {
	t.Parallel()
	const mega = 1 << 20
	escaped := func(s string) string { return strings.Trim(quoted(s), `"`) }
	for _, tt := range []struct{ name, tool, args, class, message string }{
		{"1 MB", "get_time", escaped(`{"text": "` + strings.Repeat("word, ", mega/6) + `"}`), "", ""},
		{"1 MB of members", "get_time", escaped("{" + strings.TrimSuffix(strings.Repeat(`"a":{"b":[1, 2.5]}`, 1)+`,"c":[`+strings.Repeat("0,", mega/2), ",") + "]}"), "", ""},
		{"1 MB, broken at the end", "get_time", escaped(`{"text": "` + strings.Repeat("word, ", mega/6) + `"]`),
			"invalid_json", `At byte 1048583 (at or behind "text"): ']' cannot stand here.`},
		{"1 MB, not closed", "get_time", escaped(`{"text": "` + strings.Repeat("word, ", mega/6)), "invalid_json", "the text ends inside a string."},
		{"10,000 deep", "get_time", escaped(`{"a":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}"),
			"invalid_json", "the text nests deeper than 128 levels."},
		{"no UTF-8", "get_time", `{\"a\": \"` + "\xff\xfe" + `\"}`, "invalid_json", "the text is not UTF-8."},
		{"half a character", "get_time", `{\"a\": \"\ud83d\"}`, "invalid_json", "the text is not UTF-8."},
		{"a key that is there twice", "get_time", escaped(`{"a": 1, "a": 2}`), "invalid_json", `(at or behind "a"): the key is there twice in one object.`},
		{"a tool that was not offered", "get_date", escaped(`{}`), "unknown_name",
			`No tool is called "get_date". Call one of the offered tools by its exact name.`},
		{"a tool that looks like one", "get_tine", escaped(`{}`), "unknown_name", `Names like it are "get_time".`},
		{"a name of 1 MB", strings.Repeat("get_time", mega/8), escaped(`{}`), "unknown_name", `…". Call one of the offered tools`},
	} {
		for _, size := range []int{1 << 10, 1 << 30} {
			t.Run(fmt.Sprintf("%s in pieces of %d", tt.name, size), func(t *testing.T) {
				t.Parallel()
				s := blocksOf(tt.tool, tt.args, size)
				out, resp, err := exchange(t, s, gateway.Target{Mode: gateway.Repair}, request)
				if err != nil || withoutComments(out) != s.raw() || resp.Summary.Changed {
					t.Errorf("%v: what goes on differs from what came", err)
				}
				faults, warnings := "", ""
				if tt.class != "" {
					faults, warnings = tt.class+"=1", tt.class
				}
				if s := resp.Summary; s.FaultList() != faults || strings.Join(s.Warnings, ",") != warnings {
					t.Errorf("faults are %q and warnings %q, want %q and %q", s.FaultList(), s.Warnings, faults, warnings)
				}
				_, _, err = exchange(t, s, gateway.Target{Mode: gateway.Repair, OnInvalid: gateway.RejectInvalid}, request)
				if (err == nil) != (tt.class == "") || err != nil && !strings.Contains(err.Error(), tt.message) || err != nil && len(err.Error()) > 2000 {
					t.Errorf("where such calls are refused: got %v, want %q", err, tt.message)
				}
			})
		}
	}
}

// TestTextRepeatedKey holds that a key which is there twice is a fault of a call in text as it is
// of an upstream's own: parsers pass the model's JSON on, and clients read it differently.
func TestTextRepeatedKey(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ parser, text, path string }{
		{"hermes", `<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo", "city": "Rome"}}</tool_call>`, "city"},
		{"hermes", `<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo", "city": "Oslo"}}</tool_call>`, "city"},
		{"hermes", `<tool_call>{"name": "get_time", "arguments": {"in": [{"a": 1, "\u0061": 2}]}}</tool_call>`, "in[0].a"},
		{"mistral", `[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo", "city": "Rome"}`, "city"},
		{"pythonic", `[get_time(zone={"a": 1, "a": 2})]`, "zone.a"},
	} {
		target := gateway.Target{Mode: gateway.Repair, Parsers: gateway.ParserSpec{Names: []string{tt.parser}}}
		out, resp, err := exchange(t, stream("stop", tt.text), target, request)
		if s := resp.Summary; err != nil || s.FaultList() != "invalid_json=1" || strings.Join(s.Warnings, ",") != "invalid_json" || !strings.Contains(out, `"tool_calls"`) {
			t.Errorf("%s: got %v, faults %q, warnings %q, want a call and one invalid_json: %s", tt.text, err, s.FaultList(), s.Warnings, out)
		}
		target.OnInvalid = gateway.RejectInvalid
		if _, _, err = exchange(t, stream("stop", tt.text), target, request); err == nil || !strings.Contains(err.Error(), `(at or behind "`+tt.path+`"): the key is there twice in one object.`) {
			t.Errorf("%s: where such calls are refused: got %v", tt.text, err)
		}
	}
}

// TestNativeMany holds that calls beyond what is kept track of go through as they are,
// and where calls are judged are refused.
func TestNativeMany(t *testing.T) {
	t.Parallel()
	s := &scripted{}
	for i := range 1100 {
		s.blocks = append(s.blocks, entry(fmt.Sprintf(`"index":%d,"id":"c%d","type":"function","function":{"name":"get_time","arguments":"{"}`, i, i)),
			entry(fmt.Sprintf(`"index":%d,"function":{"arguments":"}"}`, i)))
	}
	s.blocks = append(s.blocks, block(0, `"delta":{},"finish_reason":"tool_calls"`), done)
	out, resp, err := exchange(t, s, gateway.Target{Mode: gateway.Repair}, request)
	if err != nil || withoutComments(out) != s.raw() || resp.Summary.Faults["bad_index"] == 0 {
		t.Errorf("got %v, %v, %d bytes, want %d", err, resp.Summary.Faults, len(withoutComments(out)), len(s.raw()))
	}
	if _, _, err := exchange(t, s, gateway.Target{Mode: gateway.Repair, OnInvalid: gateway.RejectInvalid}, request); err == nil || !strings.Contains(err.Error(), "too many calls") {
		t.Errorf("got %v", err)
	}
}

// TestNativeBound holds that what a few bytes of a frame ask for does not multiply with
// the rest of it.
func TestNativeBound(t *testing.T) {
	t.Parallel()
	var entries []string
	for i := range 1000 {
		entries = append(entries, fmt.Sprintf(`{"index":%d,"id":"c%d","type":"function","function":{"name":"get_time"}}`, i, i))
	}
	s := &scripted{blocks: []string{
		fmt.Sprintf(`data: {"id":"c1","x":%s,"choices":[{"index":0,"delta":{"tool_calls":[%s]}}]}`, quoted(strings.Repeat("x", 200_000)), strings.Join(entries, ",")),
		fmt.Sprintf(`data: {"id":"c1","x":%s,"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, quoted(strings.Repeat("x", 200_000))), done}}
	out, _, err := exchange(t, s, gateway.Target{Mode: gateway.Repair}, request)
	if err != nil || len(out) > 2*len(s.raw()) {
		t.Errorf("got %v and %d bytes of %d", err, len(out), len(s.raw()))
	}
	a := readStream(t, out)
	a.checkForm(t, "")
	if n := len(a.choice(0).calls); n != 1000 || a.choice(0).calls[n-1].args != "{}" {
		t.Errorf("got %d calls, want 1000", n)
	}
}

// TestNativeHeld holds that calls which wait give up after a while: they are written
// with what is certain, or refused where nobody may see them unjudged.
func TestNativeHeld(t *testing.T) {
	t.Parallel()
	long := func(size int) *scripted { // an object within a string waits for its end
		filler := entry(`"index":0,"function":{"arguments":"` + strings.Repeat(`\\\"word\\\" `, 3000) + `"}`)
		s := &scripted{blocks: []string{entry(`"index":0,"id":"a","type":"function","function":{"name":"get_time","arguments":"\"{\\\"a\\\":[0"}`)}}
		for range size / len(filler) {
			s.blocks = append(s.blocks, filler)
		}
		s.blocks = append(s.blocks, block(0, `"delta":{},"finish_reason":"tool_calls"`), done)
		return s
	}
	w := &watched{scripted: long(6 << 20)}
	_, resp := w.drain(t, gateway.Target{Mode: gateway.Repair})
	if n := w.waiting[len(w.waiting)/2]; n < 2<<20 || !resp.Summary.Changed {
		t.Errorf("%d bytes wait, changed is %t", n, resp.Summary.Changed)
	}
	if out, _, err := exchange(t, w.scripted, gateway.Target{Mode: gateway.Repair}, request); err != nil || !strings.Contains(out, "word") {
		t.Errorf("the arguments are lost: %v", err)
	}
	_, _, err := exchange(t, long(34<<20), gateway.Target{Mode: gateway.Repair, OnInvalid: gateway.RejectInvalid}, request)
	if err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v, want that the arguments are too long", err)
	}
}

// FuzzNative holds that whatever blocks an upstream sends nothing panics, what comes out
// is JSON if what came in was, and where nothing may be changed it is what came in.
func FuzzNative(f *testing.F) {
	files, err := filepath.Glob("testdata/native/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			switch part.Name {
			case "upstream.sse":
				f.Add(strings.ReplaceAll(string(part.Data), "\n\n", "\n"), uint8(0))
			case "upstream.json":
				f.Add(string(part.Data), uint8(2))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string, how uint8) {
		s := &scripted{whole: how&2 != 0}
		sane := true
		for line := range strings.Lines(text) {
			line = strings.TrimPrefix(strings.TrimRight(line, "\r\n"), "data: ")
			sane = sane && (json.Valid([]byte(line)) || line == "[DONE]")
			if !s.whole {
				line = "data: " + line
			}
			s.blocks = append(s.blocks, line)
		}
		if s.whole {
			s.blocks = append(s.blocks, "{}")[:1]
		}
		target := gateway.Target{Mode: gateway.Repair, AllowEmpty: true, OnInvalid: gateway.InvalidPolicy(how & 1)}
		out, _, err := exchange(t, s, target, forecastRequest)
		if err != nil && out == "" {
			return
		}
		for b := range strings.SplitSeq(withoutComments(out), "\n\n") {
			if b = strings.TrimPrefix(b, "data: "); sane && b != "" && b != "[DONE]" && !json.Valid([]byte(b)) {
				t.Fatalf("%q is no JSON, in %q from %q", b, out, s.blocks)
			}
		}
		target.Mode = gateway.Report
		out, _, err = exchange(t, s, target, forecastRequest)
		got, want := strings.TrimSuffix(withoutComments(out), done+"\n\n"), strings.TrimSuffix(s.raw(), done+"\n\n")
		if s.whole {
			want = s.blocks[0]
		}
		if err == nil && !strings.HasPrefix(want, got) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}
