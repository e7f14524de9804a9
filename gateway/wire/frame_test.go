package wire_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// TestCopyOutlivesFree writes a further chunk like one that waited, and was freed and used again
// by then.
func TestCopyOutlivesFree(t *testing.T) {
	frame := func(data string) *wire.Frame {
		raw := "data: " + data + "\n\n"
		return &wire.Frame{Raw: []byte(raw), Data: []byte(raw)[len("data: ") : len(raw)-2]}
	}
	waits := frame(`{"id":"first","choices":[{"index":0,"delta":{"content":"a"}}]}`).Own()
	first := waits.Copy()
	waits.Free()
	frame(`{"usage":{}}`).Own().Choices()
	like := first.Like(0)
	like.Change(0).PutText([]abi.Event{{Kind: abi.Content, Text: "b"}}, "")
	want := `data: {"id":"first","choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}` + "\n\n"
	if got := string(like.AppendTo(nil)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestPieces decodes texts in pieces whose borders would be within an escape, a surrogate pair
// or a character, and finds what is no text wherever it stands.
func TestPieces(t *testing.T) {
	t.Parallel()
	fill := make([]byte, 32<<10)
	for i := range fill {
		fill[i] = 'x'
	}
	for _, end := range []string{`\n`, `\u0041`, `\ud83d\ude00`, `é`, `😀`, `\\`, `\"`, `\\u0041`, `\ud83d`, "\xff", `\q`} {
		for cut := range 16 {
			data := `{"choices":[{"index":0,"message":{"content":"` + string(fill[cut:]) + end + string(fill) + `\t"}}]}`
			f := &wire.Frame{Raw: []byte(data), Data: []byte(data), Whole: true}
			f.Choices()
			want, wantOK := f.Text(0)
			var got []byte
			ok := f.Pieces(0, func(piece []byte) bool { got = append(got, piece...); return true })
			if ok != wantOK || ok && string(got) != string(want) {
				t.Fatalf("%q cut at %d: got %d bytes and %t, want %d and %t", end, cut, len(got), ok, len(want), wantOK)
			}
		}
	}
}
