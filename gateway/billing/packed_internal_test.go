package billing

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPacked holds that a row which is packed is the same row again, with all the fields that there are.
func TestPacked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Row{}
		v := reflect.ValueOf(&r).Elem()
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			switch f := v.Field(i); f.Interface().(type) {
			case string:
				f.SetString(rapid.String().Draw(t, name))
			case bool:
				f.SetBool(rapid.Bool().Draw(t, name))
			case time.Time:
				f.Set(reflect.ValueOf(time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, name)).UTC()))
			case map[string]string:
				if labels := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, name); len(labels) > 0 {
					f.Set(reflect.ValueOf(labels))
				}
			default:
				f.SetInt(rapid.Int64().Draw(t, name))
			}
		}
		p := packed{r.id(), r.Time.UnixMilli(), r.pack(nil)}
		if got := p.row(); !reflect.DeepEqual(got, r) {
			t.Fatalf("got %+v, want %+v", got, r)
		}
	})
}

// TestPackedSize holds that the place for rows is enough, and not much more.
func TestPackedSize(t *testing.T) {
	t.Parallel()
	r := Row{ID: "DYFHSALCHM7Y2KXG4ALTQ6XGKF-1", Request: "req_whn3awpefvtq6b5nh2mcdc3z", Key: "app", Team: "search", Model: "gpt-5.5", Provider: "openai", Served: "gpt-5.5-2026",
		Purpose: "answer", Input: 123456, Cached: 98304, Output: 12345, Reasoning: 10000, Nano: 987654321, Priced: true, PriceVersion: "0123456789ab", Tools: 3, Status: "ok", Took: 90 * time.Second}
	if has, room := len(r.pack(nil)), packedSize([]Row{r}); has > room || room > has*5/4 {
		t.Errorf("a row has %d bytes, and room for %d", has, room)
	}
}

// TestPlain holds that a text is looked at as byte by byte, wherever the byte is that counts.
func TestPlain(t *testing.T) {
	t.Parallel()
	for _, c := range []byte{0, 1, 0x7f, 0x80, 0xff} {
		for size := range 20 {
			for at := range size {
				for _, rest := range []byte{1, 'a', 0x7f} {
					b := bytes.Repeat([]byte{rest}, size)
					b[at] = c
					if got, want := isPlain(string(b)), c > 0 && c < 0x80; got != want {
						t.Fatalf("isPlain(%q) is %v, want %v", b, got, want)
					}
				}
			}
		}
	}
}
