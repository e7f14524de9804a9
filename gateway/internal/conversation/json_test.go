package conversation_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

func whole(text string) ([]byte, wire.Span) { return []byte(text), wire.Span{End: len(text)} }

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, want string
		ok         bool
	}{
		{`"a"`, "a", true}, {`""`, "", true}, {`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", true}, {`"\u00e9\ud83d\ude00"`, "é😀", true},
		{`null`, "", true}, {``, "", true}, {`5`, "", false}, {`true`, "", false}, {`["a"]`, "", false}, {`{"a":1}`, "", false}, {`-`, "", false},
	} {
		text, at := whole(tt.text)
		got, ok := conversation.Decode(text, at)
		if string(got) != tt.want || ok != tt.ok {
			t.Errorf("%s: got %q, %t, want %q, %t", tt.text, got, ok, tt.want, tt.ok)
		}
	}
	text, at := whole(`"plain"`)
	if got, _ := conversation.Decode(text, at); &got[0] != &text[1] {
		t.Error("a text without escapes: got a copy, want a part of it")
	}
}

func TestMember(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ object, name, want string }{
		{`{"a":1,"b":[2]}`, "b", `[2]`}, {`{"a":1}`, "b", ``}, {`{}`, "a", ``}, {`["a"]`, "a", ``}, {`"a"`, "a", ``}, {`null`, "a", ``}, {``, "a", ``},
		{`{"x":{"a":1},"a":2}`, "a", `2`}, {`{"\u0061":1}`, "a", `1`}, {`{"A":1}`, "a", ``}, {`{"a":null}`, "a", `null`}, {`{"":1}`, "", `1`},
	} {
		text, at := whole(tt.object)
		if got := string(conversation.Member(text, at, tt.name).Of(text)); got != tt.want {
			t.Errorf("%s of %s: got %s, want %s", tt.name, tt.object, got, tt.want)
		}
	}
}

// TestMembers: f ends the walk.
func TestMembers(t *testing.T) {
	t.Parallel()
	text, at := whole(`{"a":1,"b":2,"c":3}`)
	seen := ""
	conversation.Members(text, at, func(key []byte, v wire.Span) bool {
		seen += string(key) + string(v.Of(text))
		return string(key) != "b"
	})
	if seen != "a1b2" {
		t.Errorf("got %s, want a1b2", seen)
	}
}

// TestMembersWithin: what follows an object is not of it.
func TestMembersWithin(t *testing.T) {
	t.Parallel()
	text := []byte(`{"a":1},"b":2}`)
	if got := conversation.Member(text, wire.Span{End: 7}, "b"); !got.Empty() {
		t.Errorf("got %q behind the object, want nothing", got.Of(text))
	}
}

func TestIsObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`{}`: true, `{"a":1}`: true, `[]`: false, `""`: false, `null`: false, ``: false} {
		if b, at := whole(text); conversation.IsObject(b, at) != want {
			t.Errorf("%s: got %t, want %t", text, !want, want)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": `x""`, "a": `x"a"`, "\"\\\n\x01": `x"\"\\\n\u0001"`, "é😀": `x"é😀"`, "\xff": "x\"\ufffd\""} {
		if got := string(wire.AppendQuoted([]byte("x"), text)); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
		if got := string(wire.AppendQuoted([]byte("x"), []byte(text))); got != want {
			t.Errorf("the bytes of %q: got %s, want %s", text, got, want)
		}
	}
}
