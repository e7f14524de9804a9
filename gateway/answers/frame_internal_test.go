package answers

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"
)

func sample() *Answer {
	return &Answer{
		Provider: "local", Model: "qwen", Streamed: true, ContentType: "text/event-stream", Stored: time.Date(2026, 11, 1, 2, 3, 4, 5, time.UTC),
		Parsers: []string{"hermes"}, Repairs: map[string]int{"reasoning_field": 1}, Corrections: []Correction{{"delete_task", "ghost"}},
		Body: []byte("data: {}\n\ndata: [DONE]\n\n"),
	}
}

// TestFrame holds that an answer comes back as it was, and only with its own key and
// unchanged.
func TestFrame(t *testing.T) {
	t.Parallel()
	keys := NewKeys([]byte("salt"))
	k, other := keys.Of([]byte("a")), keys.Of([]byte("b"))
	want := sample()
	box, err := k.write(want, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.read(box)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, error %v, want %+v", got, err, want)
	}
	if len(box) > frameHead+maxAbout+len(want.Body)+sealSize {
		t.Errorf("got %d bytes, more than a reader takes", len(box))
	}
	for i := range box {
		changed := bytes.Clone(box)
		changed[i] ^= 1
		if _, err := k.read(changed); err == nil {
			t.Fatalf("got an answer with byte %d changed", i)
		}
		if _, err := k.read(box[:i]); err == nil {
			t.Fatalf("got an answer of %d bytes out of %d", i, len(box))
		}
	}
	swapped := Key{Name: k.Name, seal: other.seal}
	for name, k := range map[string]Key{"another": other, "another's seal": swapped, "another's name": {Name: other.Name, seal: k.seal}} {
		if _, err := k.read(box); err == nil {
			t.Errorf("%s: got an answer with the wrong key", name)
		}
	}
	if again, _ := k.write(want, time.Now().Add(time.Hour)); bytes.Equal(again, box) {
		t.Error("got the same bytes twice, want another nonce")
	}
	old, err := k.write(want, time.Now().Add(-time.Second))
	if _, expired := k.read(old); err != nil || expired == nil {
		t.Errorf("got errors %v and %v for one that has expired", err, expired)
	}
	large := sample()
	large.Model = strings.Repeat("x", maxAbout)
	if _, err := k.write(large, time.Now()); err == nil {
		t.Error("got a frame that nobody would read")
	}
}

// TestKeys holds that parts are kept apart, and that each salt has keys of its own.
func TestKeys(t *testing.T) {
	t.Parallel()
	seen := map[Key]string{}
	put := func(name string, k Key) {
		if first, known := seen[k]; known {
			t.Errorf("got one key for %s and %s", first, name)
		}
		seen[k] = name
	}
	for _, salt := range []string{"salt", "other", strings.Repeat("s", 32), strings.Repeat("s", 33), ""} {
		keys := NewKeys([]byte(salt))
		put(salt+" none", keys.Of())
		put(salt+" empty", keys.Of(nil))
		put(salt+" ab", keys.Of([]byte("ab")))
		put(salt+" a,b", keys.Of([]byte("a"), []byte("b")))
		put(salt+" ,ab", keys.Of(nil, []byte("ab")))
		put(salt+" list a,b", keys.Of(List("a", "b")))
		put(salt+" list ab", keys.Of(List("ab")))
		if salt != "" && keys.Of([]byte("x")) != NewKeys([]byte(salt)).Of([]byte("x")) {
			t.Errorf("%s: got two keys of the same", salt)
		}
	}
	if one, other := NewKeys(nil), NewKeys(nil); one.Of() == other.Of() {
		t.Error("got the same key of two salts by chance")
	}
}

func FuzzDecode(f *testing.F) {
	frame, err := encode(sample(), time.Now())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(frame)
	f.Add(frame[:7])
	f.Add([]byte("\x01\x00\x00\x00\x02{}body"))
	f.Add([]byte("\x01\xff\xff\xff\xff{}"))
	f.Add([]byte("\x01\x00\x00\x00\x04null"))
	k := NewKeys([]byte("salt")).Of()
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := k.read(b); err == nil {
			t.Error("got an answer from what nobody has sealed")
		}
		a, expires, err := decode(b)
		if err != nil {
			return
		}
		again, err := encode(a, expires)
		if err != nil { // JSON that is read may be written longer, and years beyond 9999 are not
			return
		}
		back, until, err := decode(again)
		if err != nil || !until.Equal(expires) || !bytes.Equal(back.Body, a.Body) || back.Model != a.Model || !back.Stored.Equal(a.Stored) {
			t.Errorf("got %+v until %v, error %v, want %+v until %v", back, until, err, a, expires)
		}
	})
}
