package typed_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/typed"
)

func TestConvert(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		raw      string
		types    sdk.Types
		want     string
		repaired bool
	}{
		{"null", abi.String, `"null"`, false},
		{" x ", abi.String, `" x "`, false},
		{"null", abi.String | abi.Null, `null`, false},
		{"None", abi.String | abi.Null, `null`, false},
		{"12345678901234567890", abi.Number, `12345678901234567890`, false},
		{"1.0", abi.Number, `1.0`, false},
		{"5.0", abi.Integer, `5`, false},
		{"5.5", abi.Integer, `5.5`, false},
		{"5.5", abi.Integer | abi.String, `"5.5"`, false},
		{"TRUE", abi.Boolean, `true`, false},
		{"yes", abi.Boolean, `"yes"`, false},
		{"{'a': [1, True, None]}", abi.Object, `{"a": [1, true, null]}`, true},
		{"[1]", abi.Object, `[1]`, false},
		{"[1]", abi.Object | abi.String, `"[1]"`, false},
		{"", abi.Object, `{}`, false},
		{"", abi.Array | abi.Null, `null`, false},
		{"", abi.String | abi.Null, `""`, false},
		{"", 0, `""`, false},
		{"3", 0, `3`, false},
		{`"3"`, 0, `"3"`, false},
		{`"3"`, abi.Integer, `"3"`, false},
		{"three", abi.Integer, `"three"`, false},
		{"09", abi.Integer, `9`, true},
		{"000", abi.Integer, `0`, true},
		{"09", abi.Integer | abi.String, `"09"`, false},
		{"09", 0, `"09"`, false},
		{"09.5", abi.Number, `"09.5"`, false},
		{"0012345678901234567", abi.Number, `12345678901234567`, true},
	} {
		if got, repaired := typed.Convert([]byte(tt.raw), tt.types, 0); string(got) != tt.want || repaired != tt.repaired {
			t.Errorf("Convert(%q, %b) = %s, %t, want %s, %t", tt.raw, tt.types, got, repaired, tt.want, tt.repaired)
		}
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		quoted string
		types  sdk.Types
		want   string // empty if it is none
	}{
		{`"3"`, abi.Integer, `3`},
		{`"3"`, abi.Integer | abi.String, ``},
		{`"09"`, abi.Integer, `9`},
		{`"3"`, 0, ``},
		{`"5.0"`, abi.Integer, `5`},
		{`"5.5"`, abi.Integer, ``},
		{`"true"`, abi.Boolean, `true`},
		{`"null"`, abi.Integer | abi.Null, `null`},
		{`"null"`, abi.Integer, ``},
		{`"{\"a\": 1}"`, abi.Object, `{"a": 1}`},
		{`"[1]"`, abi.Object, ``},
		{`"three"`, abi.Integer, ``},
		{`3`, abi.Integer, ``},
	} {
		got, ok := typed.String([]byte(tt.quoted), tt.types, 0)
		if !ok {
			got = nil
		}
		if string(got) != tt.want {
			t.Errorf("String(%s, %b) = %s, want %s", tt.quoted, tt.types, got, tt.want)
		}
	}
}

// TestValueStreams checks what is passed on at once, and that what is passed on is
// what Convert says of the whole.
func TestValueStreams(t *testing.T) {
	t.Parallel()
	space := strings.Repeat(" ", 100)
	for _, tt := range []struct {
		raw     string
		types   sdk.Types
		streams int // bytes after which it streams, -1 if it waits for the end
	}{
		{"abc", abi.String, 0},
		{"abc", 0, 1},
		{"abc", abi.String | abi.Null, 1},
		{"no", abi.String | abi.Null, -1},
		{"nothing", abi.String | abi.Null, 3},
		{"{a", abi.String | abi.Null, 1},
		{"{a", abi.String | abi.Object, -1},
		{"{a", 0, -1},
		{"12 main st", 0, 4},
		{"12 main st", abi.String | abi.Null, 1},
		{"12 main st", abi.String | abi.Integer, 4},
		{"three", abi.Integer, 2},
		{`"3"`, abi.Integer, -1},
		{"true" + space, abi.Boolean | abi.String, 69},
		{" \n" + space + "x", 0, 103},
	} {
		var v typed.Value
		var out sdk.Out
		v.Begin(tt.types, typed.Keep, &out)
		streams := -1
		var got string
		for i := range len(tt.raw) + 1 {
			for _, e := range events(t, &out) {
				if got += e.Text; streams < 0 {
					streams = i
				}
			}
			if i < len(tt.raw) {
				v.Write([]byte(tt.raw[i:i+1]), &out)
			}
		}
		v.End(0, &out)
		for _, e := range events(t, &out) {
			got += e.Text
		}
		want, _ := typed.Convert([]byte(tt.raw), tt.types, 0)
		if streams != tt.streams || got != string(want) && len(tt.raw) < 50 {
			t.Errorf("%q as %b streams after %d bytes and is %s, want %d and %s", tt.raw, tt.types, streams, got, tt.streams, want)
		}
	}
}

func events(t *testing.T, out *sdk.Out) []abi.Event {
	t.Helper()
	events, err := abi.DecodeEvents(nil, out.Take())
	if err != nil {
		t.Fatal(err)
	}
	return events
}
