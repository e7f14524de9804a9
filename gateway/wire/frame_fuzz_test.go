package wire_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// golden are the data of the chunks and completions of the golden files of native calls.
func golden(t testing.TB) (streamed, whole []string) {
	t.Helper()
	files, err := filepath.Glob("../flow/testdata/native/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range txtar.Parse(text).Files {
			switch f.Name {
			case "upstream.sse":
				for line := range strings.Lines(string(f.Data)) {
					if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && data != "[DONE]" {
						streamed = append(streamed, data)
					}
				}
			case "upstream.json":
				whole = append(whole, strings.TrimSpace(string(f.Data)))
			}
		}
	}
	return streamed, whole
}

// plain reports whether the data is JSON of which every reader thinks alike: no key twice, none
// with escapes, UTF-8.
func plain(data []byte) bool {
	if !jsontext.Value(data).IsValid() {
		return false
	}
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		kind, n := d.StackIndex(d.StackDepth())
		v, err := d.ReadToken()
		if err != nil {
			return true
		}
		if raw := data[:d.InputOffset()]; kind == '{' && n%2 == 0 && v.Kind() == '"' && bytes.LastIndexByte(raw, '\\') > bytes.LastIndexByte(raw[:len(raw)-1], '"') {
			return false
		}
	}
}

// object is a JSON object as encoding/json reads it, whose keys are told apart by their case.
type object map[string]json.RawMessage

// read reads an object, or nothing where it is none.
func read(raw []byte) (o object) {
	_ = json.Unmarshal(raw, &o)
	return o
}

// choicesOf are the choices of a chunk or completion. ok is false if they are not all objects.
func choicesOf(data []byte) (choices []object, ok bool) {
	err := json.Unmarshal(read(data)["choices"], &choices)
	return choices, err == nil
}

// look asks a frame everything, and holds that all its places are in it.
func look(t *testing.T, f *wire.Frame) {
	t.Helper()
	f.IsChunk()
	f.Failed()
	f.Usage()
	f.Finishes()
	f.Says()
	f.Hole()
	for i, c := range f.Choices() {
		f.Text(i)
		for _, at := range [...]wire.Span{c.Object, c.Body, c.Content, c.Calls, c.Reasoning, c.Finish} {
			if at.Start < 0 || at.End > len(f.Data) || at.Start > at.End {
				t.Fatalf("%v of %d bytes: %q", at, len(f.Data), f.Data)
			}
		}
	}
}

// FuzzFrame reads any bytes without a panic, finds in chunks what encoding/json finds, and finds
// the same in a chunk whatever chunk came before it.
func FuzzFrame(f *testing.F) {
	streamed, whole := golden(f)
	for i, c := range streamed {
		f.Add([]byte(streamed[max(i-1, 0)]), []byte(c), false)
	}
	for _, c := range whole {
		f.Add([]byte(c), []byte(c), true)
	}
	const form = `{"id":"c","choices":[{"index":0,"delta":{"content":"%","reasoning":null},"finish_reason":null}]}`
	for _, s := range []string{`a`, `\n`, `\"`, `a"`, `\\`, `"},"finish_reason":"stop"`, ``} {
		f.Add([]byte(strings.Replace(form, "%", "x", 1)), []byte(strings.Replace(form, "%", s, 1)), false)
	}
	f.Fuzz(func(t *testing.T, before, data []byte, whole bool) {
		alone := &wire.Frame{Raw: data, Data: data, Whole: whole}
		look(t, alone)
		if plain(data) {
			agrees(t, alone)
		}
		if whole {
			return
		}
		shape, behind := &wire.Shape{}, &wire.Frame{}
		shape.Read(behind, before, before)
		look(t, behind)
		shape.Read(behind, data, data)
		look(t, behind)
		if !plain(before) || !plain(data) {
			return
		}
		if !slices.Equal(alone.Choices(), behind.Choices()) || alone.IsChunk() != behind.IsChunk() || !bytes.Equal(alone.Usage(), behind.Usage()) ||
			alone.Failed() != behind.Failed() || alone.Says() != behind.Says() {
			t.Fatalf("%s\nbehind %s\nis read as %+v,\nand alone as %+v", data, before, behind.Choices(), alone.Choices())
		}
	})
}

// agrees holds that a frame says of its choices what encoding/json does.
func agrees(t *testing.T, f *wire.Frame) {
	t.Helper()
	want, ok := choicesOf(f.Data)
	if !ok || !f.IsChunk() {
		return
	}
	if len(f.Choices()) != len(want) {
		t.Fatalf("%d choices, want %d: %s", len(f.Choices()), len(want), f.Data)
	}
	for i, c := range f.Choices() {
		w := want[i]
		body := read(w["delta"])
		if f.Whole {
			body = read(w["message"])
		}
		var reason, content string
		_ = json.Unmarshal(w["finish_reason"], &reason) // "" where it is no string
		if c.Reason != reason && !bytes.Contains(w["finish_reason"], []byte{'\\'}) {
			t.Errorf("choice %d has the finish reason %q, want %q", i, c.Reason, reason)
		}
		if raw := string(bytes.TrimSpace(body["tool_calls"])); c.Calls.Of(f.Data) != nil && string(c.Calls.Of(f.Data)) != raw {
			t.Errorf("choice %d has the calls %s, want %s", i, c.Calls.Of(f.Data), raw)
		}
		text, ok := f.Text(i)
		if err := json.Unmarshal(body["content"], &content); ok && len(body["content"]) > 0 && (err != nil || string(text) != content) {
			t.Errorf("choice %d says %q, want %q", i, text, content)
		}
	}
}

// FuzzRender puts edits into any chunk or completion. What goes out is JSON, holds what was put
// in, and has all other members as they came.
func FuzzRender(f *testing.F) {
	streamed, whole := golden(f)
	for i, c := range streamed {
		f.Add([]byte(c), uint16(i*37), "Hello, \"world\"\n", false)
	}
	for i, c := range whole {
		f.Add([]byte(c), uint16(i*37), "Hello", true)
	}
	f.Add([]byte("{\n\"x\": [1,\n2], \"choices\":[{\"delta\":{\"content\":\"a\",\"y\":1.0},\"index\":0},{\"delta\":{\"content\":\"b\"},\"index\":1,\"finish_reason\":\"stop\"}], \"usage\":{\"x\":1}}"), uint16(0xffff), "x", false)
	f.Fuzz(func(t *testing.T, data []byte, edits uint16, text string, whole bool) {
		frame := &wire.Frame{Raw: slices.Concat([]byte("data: "), data, []byte("\n\n")), Data: data, Whole: whole}
		if whole {
			frame.Raw = data
		} else if bytes.ContainsAny(data, "\r\n") {
			frame.Raw = slices.Concat([]byte("data: "), bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: ")), []byte("\n\n"))
		}
		if !plain(data) || bytes.ContainsRune(data, '\r') || data[0] != '{' || data[len(data)-1] != '}' || !frame.IsChunk() || len(frame.Choices()) > 4 {
			return
		}
		if frame.Changed() || !bytes.Equal(frame.AppendTo(nil), frame.Raw) {
			t.Fatalf("nothing is put in, and %q goes out", frame.AppendTo(nil))
		}
		want := edit(frame, edits, text)
		if !frame.Changed() {
			return
		}
		own := frame.Own()
		out := own.AppendTo(nil)
		if again := frame.AppendTo(nil); !bytes.Equal(out, again) {
			t.Fatalf("the frame goes out as\n%s\nand its copy as\n%s", again, out)
		}
		check(t, frame, out, want)
		own.Free()
	})
}

// edit puts into a frame what the bits of edits say, and returns the text that it has then.
func edit(f *wire.Frame, edits uint16, text string) (want string) {
	for i, c := range f.Choices() {
		bits := edits >> (4 * i)
		if bits&1 != 0 && len(c.Body.Of(f.Data)) > 0 && f.Data[c.Body.Start] == '{' {
			f.Change(i).PutText([]abi.Event{
				{Kind: abi.Content, Text: text},
				{Kind: abi.CallStart, Index: 7, ID: "new", Name: "n"}, {Kind: abi.Args, Index: 7, Text: `{"a":1}`}, {Kind: abi.CallEnd, Index: 7},
				{Kind: abi.Content, Text: "<end>"},
			}, "reasoning_content")
			want += string([]rune(text)) + "<end>"
		}
		if bits&2 != 0 && !c.Reasoning.Empty() {
			f.PutReasoningName(i, "thoughts")
		}
		if bits&4 != 0 && c.Reason != "" {
			f.Change(i).PutFinish("tool_calls")
		}
		if bits&8 != 0 && !c.Calls.IsNull(f.Data) && f.Data[c.Calls.Start] == '[' {
			var entries []wire.Entry
			wire.Elements(f.Data, c.Calls.Start, func(n int, v wire.Span) bool {
				kind := wire.AsItCame
				if f.Data[v.Start] == '{' {
					kind = [...]wire.EntryKind{wire.AsItCame, wire.Begins, wire.GoesOn}[n%3]
				}
				entries = append(entries, wire.Entry{Kind: kind, From: v, Index: n, ID: "i", Name: "n", Args: text})
				return true
			})
			f.PutCalls(i, entries)
		}
	}
	return want
}

// check holds that what goes out for a frame is JSON, block by block, with the members of the
// original but for those that choices may change, and with the text that was put in.
func check(t *testing.T, f *wire.Frame, out []byte, want string) {
	t.Helper()
	blocks := [][]byte{out}
	if !f.Whole {
		blocks = nil
		for r := wire.NewReader(bytes.NewReader(out), 0); ; {
			b, err := r.Next()
			if err != nil {
				break
			}
			blocks = append(blocks, bytes.Clone(b.Data))
		}
	}
	original := read(f.Data)
	got := ""
	for _, b := range blocks {
		members := read(b)
		for name, value := range original {
			if name != "choices" && name != "usage" && flat(value) != flat(members[name]) {
				t.Errorf("%q is %s, and was %s", name, members[name], value)
			}
		}
		if len(members) != len(original) {
			t.Errorf("%d members, want %d: %s", len(members), len(original), b)
		}
		choices, _ := choicesOf(b)
		for _, choice := range choices {
			for _, body := range [...]string{"delta", "message"} {
				var text string
				if _ = json.Unmarshal(read(choice[body])["content"], &text); strings.HasSuffix(text, "<end>") || want != "" && strings.Contains(want, text) {
					got += text
				}
			}
		}
	}
	if len(f.Choices()) == 1 && !f.Whole && got != want && want != "" {
		t.Errorf("the text %q is %q: %s", want, got, out)
	}
}

// flat is JSON with its lines joined, as data on several lines goes out.
func flat(value []byte) string {
	return strings.TrimSpace(strings.ReplaceAll(string(value), "\n", " "))
}
