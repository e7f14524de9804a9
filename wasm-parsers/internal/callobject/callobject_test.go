package callobject_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
)

// result is what a reader has made of an object.
type result struct {
	name, id, args string
	repairs        string
	rest           string // of the text, that was not read
	status         callobject.Status
}

// read feeds text in pieces of a size until the object ends.
func read(t *testing.T, r *callobject.Reader, text string, size int) result {
	t.Helper()
	got := result{}
	for text != "" && got.status == callobject.More {
		n, status := r.Feed([]byte(text[:min(size, len(text))]))
		got.args += string(r.Args)
		r.Args = r.Args[:0]
		text, got.status = text[n:], status
	}
	got.name, got.id, got.rest = r.Name, r.ID, text
	if got.status != callobject.Done {
		return got
	}
	var out sdk.Out
	r.Report(&out)
	events, err := abi.DecodeEvents(nil, out.Take())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		got.repairs += e.Name + " "
	}
	return got
}

func TestReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", callobject.MaxName)
	for _, tt := range []struct {
		text string
		want result // args without the last brace
	}{
		{`{"name": "f", "arguments": {"a": [1, {}]}} x`, result{name: "f", args: `{"a": [1, {}]`, rest: " x", status: callobject.Done}},
		{`{"arguments": {"a": 1}, "name": "f"}`, result{name: "f", args: `{"a": 1`, status: callobject.Done}},
		{`{"parameters": {}, "id": "i", "name": "f"}`, result{name: "f", id: "i", args: `{`, status: callobject.Done}},
		{`{"name": "f"}`, result{name: "f", args: `{`, status: callobject.Done}},
		{`{"name": "f", "arguments": null}`, result{name: "f", args: `{`, status: callobject.Done}},
		{`{"name": "f", "arguments": " "}`, result{name: "f", args: `{`, status: callobject.Done}},
		{`{"name": "f", "arguments": " {\"a\": 1} "}`, result{name: "f", args: `{"a": 1`, repairs: "args_string ", status: callobject.Done}},
		{`{"name": "f", "arguments": "{'a': 1}"}`, result{name: "f", args: `{"a": 1`, repairs: "args_json args_string ", status: callobject.Done}},
		{`{name: 'f', arguments: {a: True,},}`, result{name: "f", args: `{"a": true`, repairs: "args_json ", status: callobject.Done}},
		{`{"type": "function", "function": {"name": "f", "arguments": "{}"}, "x": [{"name": 1}]}`, result{name: "f", args: `{`, repairs: "args_string ", status: callobject.Done}},
		{`{"function": "x", "name": "f"}`, result{name: "f", args: `{`, status: callobject.Done}},
		{`{"name": "` + long + `"}`, result{name: long, args: `{`, status: callobject.Done}},
		{`{"name": "f", "id": "` + long + `n"}`, result{name: "f", args: `{`, status: callobject.Done}},
		{`{"name": "f", "id": 7}`, result{name: "f", args: `{`, status: callobject.Done}},
		{`{"name": "é", "id": "i\u0001"}`, result{name: "é", args: `{`, status: callobject.Done}},
		{`{"name": "` + long + `n"}`, result{rest: `}`, status: callobject.Bad}},
		{`{"name": " "}`, result{rest: `}`, status: callobject.Bad}},
		{`{"name": "a\u0000b"}`, result{rest: `}`, status: callobject.Bad}},
		{`{"name": 5}`, result{rest: `}`, status: callobject.Bad}},
		{`{"name": "f", "name": "g"}`, result{name: "f", rest: ` "g"}`, status: callobject.Bad}},
		{`{"name": "f", "arguments": {}, "parameters": {}}`, result{name: "f", args: `{`, rest: ` {}}`, status: callobject.Bad}},
		{`{"name": "f", "arguments": []}`, result{name: "f", rest: `]}`, status: callobject.Bad}},
		{`{"name": "f", "arguments": "[]"}`, result{name: "f", rest: `}`, status: callobject.Bad}},
		{`{"city": "Oslo"}`, result{status: callobject.Bad}},
		{`{"f": {"city": "Oslo"}}`, result{status: callobject.Bad}},
		{`{}`, result{status: callobject.Bad}},
		{`{"name": "f", "arguments": {"a": [[[1]]]}}`, result{name: "f", args: `{"a": [[`, rest: `[1]]]}}`, status: callobject.Bad}},
	} {
		for _, size := range []int{1, 3, len(tt.text)} {
			if got := read(t, callobject.New(callobject.Hermes(), 4), tt.text, size); got != tt.want {
				t.Errorf("%s in pieces of %d: %+v, want %+v", tt.text, size, got, tt.want)
			}
		}
	}
}

func TestResetKeyed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want result
	}{
		{`{"f": {"a": 1}}]`, result{name: "f", args: `{"a": 1`, rest: "]", status: callobject.Done}},
		{`{"name": {"name": 1}}`, result{name: "name", args: `{"name": 1`, status: callobject.Done}},
		{`{"f": null}`, result{name: "f", args: `{`, status: callobject.Done}},
		{`{"f": "{\"a\": 1}"}`, result{name: "f", args: `{"a": 1`, repairs: "args_string ", status: callobject.Done}},
		{`{'f': {},}`, result{name: "f", args: `{`, repairs: "args_json ", status: callobject.Done}},
		{`{"f": {}, "g": {}}`, result{name: "f", args: `{`, rest: ` {}}`, status: callobject.Bad}},
		{`{"f": 1}`, result{name: "f", rest: `}`, status: callobject.Bad}},
		{`{"": {}}`, result{rest: ` {}}`, status: callobject.Bad}},
		{`{}`, result{status: callobject.Bad}},
	} {
		r := callobject.New(callobject.Hermes(), 0)
		for _, size := range []int{1, 3, len(tt.text)} {
			r.ResetKeyed()
			if got := read(t, r, tt.text, size); got != tt.want {
				t.Errorf("%s in pieces of %d: %+v, want %+v", tt.text, size, got, tt.want)
			}
		}
		r.Reset() // and the reader is an ordinary one again
		if got := read(t, r, `{"name": "h"}`, 4); got.name != "h" || got.status != callobject.Done {
			t.Errorf("after Reset: %+v", got)
		}
	}
}

func TestResetArgs(t *testing.T) {
	t.Parallel()
	r := callobject.New(callobject.Hermes(), 0)
	r.ResetArgs("f")
	want := result{name: "f", args: `{"name": 1`, rest: ` x`, status: callobject.Done}
	if got := read(t, r, `{"name": 1} x`, 2); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	r.ResetArgs("f")
	if got := read(t, r, `[1]`, 2); got.status != callobject.Bad {
		t.Errorf("an array gives %+v", got)
	}
}

func TestHasArgs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`{"name": "f"}`: false, `{"name": "f", "arguments": {}}`: true} {
		r := callobject.New(callobject.Hermes(), 0)
		read(t, r, text, len(text))
		if r.HasArgs() != want {
			t.Errorf("HasArgs of %s = %v", text, !want)
		}
	}
}

func TestSkip(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fed, skipped, rest string
		want               callobject.Status
	}{
		{`{"name": 5`, `, "a": [{}]}, {`, ", {", callobject.Done},
		{`{"city": "Oslo"}`, `, {`, ", {", callobject.Done},
		{``, `"so", {`, ", {", callobject.Done},
		{``, `[1, "]"]]`, "]", callobject.Done},
		{`{"name": 5`, `, bad}`, "}", callobject.Bad},
		{`{"name": 5`, `, "a": 1`, "", callobject.More},
	} {
		for _, size := range []int{1, 3, len(tt.skipped)} {
			r := callobject.New(callobject.Hermes(), 4)
			read(t, r, tt.fed, max(len(tt.fed), 1))
			rest, status := tt.skipped, callobject.More
			for rest != "" && status == callobject.More {
				var n int
				n, status = r.Skip([]byte(rest[:min(size, len(rest))]))
				rest = rest[n:]
			}
			if rest != tt.rest || status != tt.want {
				t.Errorf("%s, %s in pieces of %d: rest %q, status %d", tt.fed, tt.skipped, size, rest, status)
			}
		}
	}
}
