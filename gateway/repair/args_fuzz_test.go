package repair_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// object draws an object as a model writes it, with white space, escapes and text of
// all kinds.
func object() *rapid.Generator[string] {
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n  ", "\t"})
	text := rapid.Custom(func(t *rapid.T) string {
		return `"` + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "Oslo", " ", "é", "😀", `\n`, `\"`, `\\`, `\/`, `\u00e9`, `\ud83d\ude00`, "'", "{", "}", ",", ":", "[", `\u0000`,
		}), 0, 6).Draw(t, "text"), "") + `"`
	})
	var value func(depth int) *rapid.Generator[string]
	list := func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			s := func() string { return space.Draw(t, "space") }
			var parts []string
			for range rapid.IntRange(0, 3).Draw(t, "elements") {
				parts = append(parts, s()+value(depth-1).Draw(t, "element")+s())
			}
			return "[" + strings.Join(parts, ",") + "]"
		})
	}
	members := func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			s := func() string { return space.Draw(t, "space") }
			var parts []string
			for i := range rapid.IntRange(0, 3).Draw(t, "members") {
				key := fmt.Sprintf("k%d%s", i, rapid.SampledFrom([]string{"", "é", `\n`, " "}).Draw(t, "key"))
				parts = append(parts, s()+`"`+key+`"`+s()+":"+s()+value(depth-1).Draw(t, "member")+s())
			}
			return "{" + strings.Join(parts, ",") + "}"
		})
	}
	value = func(depth int) *rapid.Generator[string] {
		scalar := rapid.OneOf(text, rapid.SampledFrom([]string{
			"0", "-0", "12", "-3.50", "1e9", "1E-2", "12345678901234567890", "true", "false", "null", `"3"`, `"true"`, `"[1]"`,
		}))
		if depth == 0 {
			return scalar
		}
		return rapid.OneOf(scalar, rapid.Deferred(func() *rapid.Generator[string] { return list(depth) }),
			rapid.Deferred(func() *rapid.Generator[string] { return members(depth) }))
	}
	return members(3)
}

// TestArgsValid checks that any object comes out as it went in.
func TestArgsValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := object().Draw(t, "object")
		if !json.Valid([]byte(in)) {
			t.Fatalf("%q is drawn, but not valid JSON", in)
		}
		got := read(unrapid{t}, new(repair.Args), nil, 0, cut(in, rapid.IntRange(0, 9).Draw(t, "first"), rapid.IntRange(1, 9).Draw(t, "size"))...)
		if got != (result{Out: in}) {
			t.Fatalf("%q: got %+v, want it unchanged", in, got)
		}
	})
}

// TestArgsMutated checks that what is not valid becomes valid or a problem, and that
// nothing is lost.
func TestArgsMutated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := object().Draw(t, "object")
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			at := rapid.IntRange(0, len(in)).Draw(t, "at")
			end := min(len(in), at+rapid.IntRange(0, 2).Draw(t, "removed"))
			in = in[:at] + rapid.SampledFrom([]string{
				"", `"`, "'", ",", ":", "{", "}", "[", "]", `\`, "\n", "True", "None", "x", "1", "\xff", `\ud800`, "{}", `{"a":1}`, " ",
			}).Draw(t, "added") + in[end:]
		}
		check(unrapid{t}, in, nil, rapid.IntRange(0, 9).Draw(t, "first"), rapid.IntRange(1, 9).Draw(t, "size"))
	})
}

// unrapid makes a testing.TB of rapid's own type, for helpers that fail at once.
type unrapid struct{ *rapid.T }

func (unrapid) Helper() {}

// failer is the part of a test that the functions here need.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// check holds the reading of any text, in pieces and whole, to the rules.
func check(tb failer, in string, tool *abi.Tool, first, size int) {
	tb.Helper()
	const depth = 20
	whole := read(tb, new(repair.Args), tool, depth, in)
	if pieces := read(tb, new(repair.Args), tool, depth, cut(in, first, size)...); pieces != whole {
		tb.Fatalf("%q cut behind %d bytes, then in pieces of %d:\ngot  %+v\nwant %+v", in, first, size, pieces, whole)
	}
	plain := strings.Trim(in, " \t\r\n")
	if whole.Out == "{}" && whole.Repairs == repair.ArgsEmpty && plain != "" && plain != "null" {
		tb.Fatalf("%q became {}", in)
	}
	if whole.Problem != "" && whole.Repairs == "" && whole.Out != in {
		tb.Fatalf("%q: a problem, no repairs, and %q went out", in, whole.Out)
	}
	if whole.Problem == "" && whole.Repairs == "" && (whole.Out != in || whole.Extra != "") {
		tb.Fatalf("%q: became %q without a word", in, whole.Out)
	}
	if tool == nil {
		checkJSON(tb, in, depth, whole)
	}
	checkMeaning(tb, in, whole, tool, depth)
}

// checkMeaning compares with a strict parser of JSON: what it reads as an object goes
// through unchanged, and what is given out it can read.
func checkMeaning(tb failer, in string, got result, tool *abi.Tool, depth int) {
	tb.Helper()
	strict := func(text string) bool {
		_, at := wire.Depth([]byte(text), depth)
		return at < 0 && strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") && jsontext.Value(text).IsValid()
	}
	if got.Problem == "" && !strict(got.Out) {
		tb.Fatalf("%q became %q, which a strict parser refuses", in, got.Out)
	}
	for object := range strings.SplitSeq(strings.TrimSuffix(got.Extra, "\x00"), "\x00") {
		if got.Extra != "" && !strict(object) {
			tb.Fatalf("%q gave %q, which a strict parser refuses", in, object)
		}
	}
	if tool == nil && strict(in) && got != (result{Out: in}) {
		tb.Fatalf("%q is valid and became %+v", in, got)
	}
}

// fuzzTool has a parameter of each type.
func fuzzTool() *abi.Tool {
	tool := &abi.Tool{Name: "tool"}
	for _, name := range slices.Sorted(maps.Keys(typeNames)) {
		tool.Params = append(tool.Params, abi.Param{Name: name[:1], Types: typeNames[name]})
	}
	return tool
}

func FuzzArgs(f *testing.F) {
	for _, c := range readArgsCases(f) {
		f.Add([]byte(c.In), byte(3), byte(1))
	}
	f.Add([]byte(`{"i":"3","n":"1.5","b":"True","o":"{\"a\":1,}","a":"[1]"}{'i':'4'}`), byte(5), byte(2))
	f.Fuzz(func(t *testing.T, in []byte, first, size byte) {
		check(t, string(in), nil, int(first), 1+int(size))
		check(t, string(in), fuzzTool(), int(first), 1+int(size))
	})
}
