package abi_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk/abi"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	want := []abi.Event{
		{Kind: abi.Content, Text: "héllo"}, {Kind: abi.Reasoning, Text: ""}, {Kind: abi.CallStart, Index: 300, Name: "f", ID: "id"},
		{Kind: abi.Args, Index: 300, Text: "{\x00"}, {Kind: abi.CallEnd, Index: 1}, {Kind: abi.Malformed, From: 7, To: 1 << 30},
		{Kind: abi.End, To: 1<<31 - 1}, {Kind: abi.Cut}, {Kind: abi.Repair, Name: "args_json"},
	}
	var b []byte
	for _, e := range want {
		b = abi.AppendEvent(b, e)
	}
	got, err := abi.DecodeEvents(nil, b)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for i := range b {
		if events, err := abi.DecodeEvents(nil, b[:i]); err == nil && len(events) == len(want) {
			t.Errorf("%d of %d bytes gave all events", i, len(b))
		}
	}
}

// TestText writes texts in pieces, also as long as they may become.
func TestText(t *testing.T) {
	t.Parallel()
	for _, want := range []abi.Event{
		{Kind: abi.Content, Text: "héllo"}, {Kind: abi.Reasoning}, {Kind: abi.Args, Index: 300, Text: "{\x00"},
		{Kind: abi.Args, Text: strings.Repeat("x", 128)}, {Kind: abi.Content, Text: strings.Repeat("x", 1<<14)},
		{Kind: abi.Content, Text: strings.Repeat("x", abi.MaxText)},
	} {
		b, at := abi.OpenText([]byte{byte(abi.CallEnd), 0}, want.Kind, want.Index)
		half := len(want.Text) / 2
		b = append(append(b, want.Text[:half]...), want.Text[half:]...)
		abi.CloseText(b, at)
		got, err := abi.DecodeEvents(nil, b)
		if err != nil || len(got) != 2 || got[1] != want {
			t.Errorf("%v of %d bytes: got %.100v, %v", want.Kind, len(want.Text), got, err)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	want := abi.Options{
		Tools: []abi.Tool{
			{Name: "f", Params: []abi.Param{{Name: "p", Types: abi.String | abi.Null, Required: true}, {Name: "q"}}},
			{Name: "g"},
		},
		Settings: []abi.Setting{{Key: "start", Value: "<<"}}, Fenced: true, Guess: true, MaxDepth: 200,
	}
	b := abi.AppendOptions(nil, want)
	if got, err := abi.DecodeOptions(b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	later := append([]byte{99, 3, 'x', 'y', 'z'}, b...)
	if got, err := abi.DecodeOptions(later); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("with an unknown field: got %+v, %v", got, err)
	}
	if got, err := abi.DecodeOptions(nil); err != nil || got.MaxDepth != abi.DefaultMaxDepth {
		t.Errorf("no options: got %+v, %v", got, err)
	}
}

// FuzzDecode reads what an untrusted guest may write: no panic, and what is
// decoded comes out the same again.
func FuzzDecode(f *testing.F) {
	f.Add(abi.AppendEvent(nil, abi.Event{Kind: abi.CallStart, Index: 1, Name: "f", ID: "i"}))
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add([]byte{4, 0x80, 0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = abi.DecodeOptions(b)
		events, err := abi.DecodeEvents(nil, b)
		if err != nil {
			return
		}
		var again []byte
		for _, e := range events {
			again = abi.AppendEvent(again, e)
		}
		if second, err := abi.DecodeEvents(nil, again); err != nil || !reflect.DeepEqual(second, events) {
			t.Fatalf("%v came out as %v, %v", events, second, err)
		}
	})
}
