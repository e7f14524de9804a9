package wire_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/wire"
)

// cut is a text in pieces of a size.
func cut(text string, size int) (p wire.Pieces) {
	for piece := range slices.Chunk([]byte(text), size) {
		p = append(p, piece)
	}
	return p
}

// TestLay holds pieces to the splice that they take the place of, and to being parts of the text.
func TestLay(t *testing.T) {
	t.Parallel()
	const text = `{"model":"a","messages":[]}`
	for _, edits := range [][]wire.Edit{
		nil,
		{{At: wire.Span{Start: 9, End: 12}, With: []byte(`"other"`)}},
		{{At: wire.Span{Start: 25, End: 25}, With: []byte(`{}`)}, {At: wire.Span{Start: 1, End: 1}, With: []byte(`"x":1,`)}, {At: wire.Span{Start: 1, End: 1}, With: []byte(`"y":2,`)}},
		{{At: wire.Span{Start: 0, End: len(text)}}},
		{{At: wire.Span{Start: 0, End: len(text)}, With: []byte(`[]`)}},
	} {
		whole := []byte(text)
		want := string(wire.Splice(whole, slices.Clone(edits)))
		got := wire.Lay(whole, edits)
		if string(got.Join()) != want || got.Size() != len(want) {
			t.Errorf("%v: got %d bytes, %q, want %q", edits, got.Size(), got.Join(), want)
		}
		if err := iotest.TestReader(got.Reader(), []byte(want)); err != nil {
			t.Errorf("%v: %v", edits, err)
		}
		if len(edits) == 0 && &got[0][0] != &whole[0] {
			t.Error("a text without edits was copied")
		}
	}
}

// TestPiecesReader: a read takes what there is room for, of however many pieces, since each is a
// write to the network.
func TestPiecesReader(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 1000)
	r := cut(text, 3).Reader()
	b := make([]byte, 4096)
	if n, err := r.Read(b); n != len(b) || err != nil {
		t.Errorf("got %d bytes and %v, want %d", n, err, len(b))
	}
	rest, err := io.ReadAll(r)
	if got := string(b) + string(rest); got != text || err != nil {
		t.Errorf("got %d bytes and %v, want the text", len(got), err)
	}
}

// TestPiecesElements compares the count in pieces with that in the text as a whole.
func TestPiecesElements(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`{}`: 0, ``: 0, `[]`: 0, `[1,2]`: 0, `{"tools":null}`: 0, `{"tools":null,"tools":[1]}`: 0, `{"tools":"[1,2]"}`: 0, `{"tools":[]}`: 0, `{"tools":[ ] }`: 0,
		`{"tools":[1]}`: 1, ` { "tools" : [ {"a":[1,2,3],"tools":[1,2]} , "],," , [ [ ] , 5 ] , null ] , "b":[1] } `: 4,
		`{"a":{"tools":[1]},"b":["tools"],"c":"tools","tools":["\\\"",{},{}]}`:                   3,
		`{"toolsx":[1],"tool":[1,2],"\"tools":[1],"x":"\\","tools":[{"a":"}]"},[]],"tools2":[]}`: 2,
		`{"tools":{"a":[1,2]},"x":[1,2,3]}`:                                                      0, `{"tools":[1,2`: 0,
	} {
		for size := 1; size <= len(text)+1; size++ {
			if got := cut(text, size).Elements("tools"); got != want {
				t.Errorf("%s in pieces of %d: got %d, want %d", text, size, got, want)
			}
		}
	}
}

// FuzzPiecesElements: whatever the text is, how it is cut makes no difference, and what is an object
// of JSON has as many elements as it has as a whole.
func FuzzPiecesElements(f *testing.F) {
	f.Add([]byte(`{"a":"\\","tools":[{"b":[1]},"x"]}`), 3)
	f.Add([]byte(`{"tools":[[],{},1`), 1)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		whole := wire.Pieces{text}.Elements("tools")
		if size > 0 && cut(string(text), size).Elements("tools") != whole {
			t.Fatalf("%q in pieces of %d: not %d", text, size, whole)
		}
		at := wire.Find(text, wire.Span{End: len(text)}, "tools")
		n := 0
		if len(text) > 0 && text[0] == '{' && jsontext.Value(text).IsValid() && !at.Empty() && bytes.HasPrefix(at.Of(text), []byte("[")) {
			wire.Elements(text, at.Start, func(int, wire.Span) bool { n++; return true })
			if n != whole {
				t.Fatalf("%q: got %d, want %d", text, whole, n)
			}
		}
	})
}

// TestAppendUnquoted compares long texts, which are read in pieces, with what the library reads, and
// holds that there is no room left over for what escapes have taken.
func TestAppendUnquoted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", `"\`, strings.Repeat(`"`, 50_000), strings.Repeat(`a\`, 50_000), strings.Repeat("日😀\n", 9_000) + "x", strings.Repeat("x", 100_000)} {
		for _, quoted := range [][]byte{wire.AppendQuoted(nil, text), []byte(strings.ReplaceAll(string(wire.AppendQuoted(nil, text)), "😀", `\ud83d\ude00`))} {
			got, err := wire.AppendUnquoted(nil, quoted)
			if string(got) != text || err != nil {
				t.Errorf("%.20q: got %.40q and %v", text, got, err)
			}
			if len(text) > 40_000 && cap(got) > len(text)+len(text)/3 {
				t.Errorf("%.20q: got room for %d bytes, want it for %d", text, cap(got), len(text))
			}
		}
	}
	if _, err := wire.AppendUnquoted(nil, []byte(`"`+strings.Repeat("a", 50_000)+`\x"`)); err == nil {
		t.Error("got no error of a string that is not well-formed")
	}
}
