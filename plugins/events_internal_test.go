package plugins

import (
	"testing"

	"github.com/callgate/callgate/sdk/abi"
)

func eventSeeds() [][]byte {
	var all []byte
	for _, e := range []abi.Event{
		{Kind: abi.Content, Text: "text"}, {Kind: abi.Reasoning, Text: "why"},
		{Kind: abi.CallStart, Index: 300, Name: "f", ID: "id"}, {Kind: abi.Args, Index: 1, Text: "{}"},
		{Kind: abi.CallEnd}, {Kind: abi.Malformed, From: 1, To: 1 << 20}, {Kind: abi.End, To: 7},
		{Kind: abi.Cut, Index: 2}, {Kind: abi.Repair, Name: "args_json"},
	} {
		all = abi.AppendEvent(all, e)
	}
	return [][]byte{all, all[:len(all)-3], {}, {0}, {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, {99}}
}

// FuzzCountEvents checks that the decoder never finds more events than were
// counted, because the count is what bounds its memory.
func FuzzCountEvents(f *testing.F) {
	for _, b := range eventSeeds() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		events, err := abi.DecodeEvents(nil, b)
		if got := countEvents(b); got < len(events) || err == nil && got != len(events) {
			t.Errorf("counted %d events, decoded %d, %v", got, len(events), err)
		}
	})
}

func TestGrammarAccepts(t *testing.T) {
	t.Parallel()
	g := grammar{fed: 10}
	for i, e := range []abi.Event{
		{Kind: abi.Content}, {Kind: abi.CallStart, Name: "f"}, {Kind: abi.Args}, {Kind: abi.Args}, {Kind: abi.CallEnd},
		{Kind: abi.Repair}, {Kind: abi.CallStart, Index: 1, Name: "f"}, {Kind: abi.Cut, Index: 1}, {Kind: abi.Reasoning},
		{Kind: abi.CallStart, Index: 2, Name: "f"}, {Kind: abi.Malformed, From: 3, To: 10},
	} {
		if err := g.check(&e); err != nil {
			t.Errorf("event %d: %v", i, err)
		}
	}
}

func BenchmarkCountEvents(b *testing.B) {
	var buf []byte
	for range 100 {
		buf = abi.AppendEvent(buf, abi.Event{Kind: abi.Args, Text: "sixteen bytes of"})
	}
	for b.Loop() {
		countEvents(buf)
	}
}
