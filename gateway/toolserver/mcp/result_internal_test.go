package mcp

import (
	"testing"
	"unicode/utf8"
)

// FuzzRead holds that whatever a server sends, a result is text within its bounds, or an error.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"content":[{"type":"text","text":"a"},null,{"type":"resource","resource":{"text":"b"}},{"type":"image"},{"type":7}]}`,
		`{"structuredContent":null}`, `{"resultType":"input_required"}`, `null`, `[]`, `{"content":[{"type":"text","text":"\ud800"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := read(raw)
		if err != nil {
			return
		}
		if len(r.Text) > maxText || !utf8.ValidString(r.Text) || len(r.Structured) > maxText || r.Cut < 0 || len(r.Dropped) > 8 {
			t.Errorf("got %+v", r)
		}
	})
}
